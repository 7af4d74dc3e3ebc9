// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.link.ClassSource;
import io.rdmashuffle.link.LinkCheck;
import io.rdmashuffle.link.References;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that demo, benchmarks and cluster tests, compiled once, link against each Spark version. */
@Tag("unit")
@Timeout(600) // The first time a line's jars come from the network.
class ToolsLinkTest {
    private static final List<Path> COMPILED = Stream.of("harness", "demo", "benchmarks", "spark-suites", "cluster")
            .map(module -> SparkJars.ROOT.resolve("integration-tests").resolve(module))
            .flatMap(module -> Stream.of(module.resolve("target/classes"), module.resolve("target/test-classes")))
            .filter(Files::exists)
            .toList();

    /** Classes that the tools find in the plugin's jar. */
    private static final List<Path> PLUGIN = Stream.of("native-verbs", "plugin", "plugin/since-4.1")
            .map(module -> SparkJars.ROOT.resolve(module).resolve("target/classes"))
            .toList();

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PREVIEW")
    void everythingThatIsCalledIsThere(SparkJars line) throws IOException {
        References references = References.of(COMPILED, file -> true);
        assertThat(references.members()).hasSizeGreaterThan(3000);
        List<Path> folders = Stream.concat(COMPILED.stream(), PLUGIN.stream()).toList();
        try (ClassSource here = new ClassSource(folders, line.jars());
                ClassSource there = new ClassSource(folders, SparkJars.SPARK_4_1.jars())) {
            assertThat(LinkCheck.findings(references, here, there)).isEmpty();
        }
    }
}
