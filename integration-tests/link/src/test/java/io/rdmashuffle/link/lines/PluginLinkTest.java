// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.link.ClassSource;
import io.rdmashuffle.link.LinkCheck;
import io.rdmashuffle.link.References;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that the jar links against each supported Spark version, as in a JVM. */
@Tag("unit")
@Timeout(600) // The first time a line's jars come from the network.
class PluginLinkTest {
    /** What of the plugin's jar touches Spark. */
    private static final List<Path> COMPILED = Stream.of("plugin", "plugin/since-4.1")
            .map(module -> SparkJars.ROOT.resolve(module).resolve("target/classes"))
            .toList();

    /** What the plugin is compiled against, and the newer side of {@code spark.compat}. */
    private static final List<SparkJars> COMPILED_AGAINST =
            List.of(SparkJars.SPARK_3_5_SCALA_2_12, SparkJars.SPARK_4_1);

    /** Spark 3.5 never asks for these. */
    private static final List<String> NOT_OF_3_5 = List.of(
            "overrides nothing: io.rdmashuffle.shuffle.buffer.SliceManagedBuffer"
                    + ".convertToNettyForSsl()Ljava/lang/Object;",
            "overrides nothing: io.rdmashuffle.spark.compat.until40.ResolverUntil40.addShuffleToSkip(I)V");

    private static final String UNTIL_4_0 = "/compat/until40/";
    private static final String SINCE_4_1 = "/compat/since41/";

    private static final String PAGE_UNTIL_3_5 = "/compat/until35/";
    private static final String PAGE_SINCE_4_0 = "/compat/since40/";

    private static boolean isOf35(SparkJars line) {
        return line == SparkJars.SPARK_3_5_SCALA_2_12 || line == SparkJars.SPARK_3_5_SCALA_2_13;
    }

    private static Set<String> findings(SparkJars line, String sideNotLoaded) throws IOException {
        String pageNotLoaded = isOf35(line) ? PAGE_SINCE_4_0 : PAGE_UNTIL_3_5;
        References references = References.of(
                COMPILED,
                file -> !file.toString().contains(sideNotLoaded)
                        && !file.toString().contains(pageNotLoaded));
        assertThat(references.members()).hasSizeGreaterThan(1000);
        Set<String> findings = new TreeSet<>();
        for (SparkJars compiledAgainst : COMPILED_AGAINST) {
            try (ClassSource here = new ClassSource(COMPILED, line.jars());
                    ClassSource there = new ClassSource(COMPILED, compiledAgainst.jars())) {
                findings.addAll(LinkCheck.findings(references, here, there));
            }
        }
        return findings;
    }

    /** The preview is useful once Spark has published one of a version after the last supported one. */
    @ParameterizedTest
    @EnumSource
    void everythingThatIsCalledIsThere(SparkJars line) throws IOException {
        boolean is35 = isOf35(line);
        boolean isUntil40 = is35 || line == SparkJars.SPARK_4_0;
        assertThat(findings(line, isUntil40 ? SINCE_4_1 : UNTIL_4_0))
                .containsExactlyInAnyOrderElementsOf(is35 ? NOT_OF_3_5 : List.of());
    }

    @Test
    void findsMembersThatOnlyOneVersionHas() throws IOException {
        assertThat(findings(SparkJars.SPARK_4_0, UNTIL_4_0))
                .contains(
                        "no type org.apache.spark.shuffle.checksum.RowBasedChecksum",
                        "no member org.apache.spark.shuffle.IndexShuffleBlockResolver"
                                + ".taskIdMapsForShuffle()Ljava/util/concurrent/ConcurrentMap;");
        assertThat(findings(SparkJars.SPARK_4_2, SINCE_4_1))
                .contains("no member org.apache.spark.shuffle.IndexShuffleBlockResolver"
                        + ".taskIdMapsForShuffle()Ljava/util/Map;");
    }
}
