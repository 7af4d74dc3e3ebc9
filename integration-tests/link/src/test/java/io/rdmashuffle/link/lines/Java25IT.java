// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of Spark 4.2 on Java 25, with Spark's own options and with denied features. */
@Tag("system")
@Timeout(600)
class Java25IT {
    private static final String ALLOW_UNSAFE = "--sun-misc-unsafe-memory-access=allow";

    @Test
    void withSparksOwnOptionsThePoolIsUsed(@TempDir Path folder) throws Exception {
        SmallApplication application = run(folder, ALLOW_UNSAFE, "--enable-native-access=ALL-UNNAMED");
        assertThat(application.pooled()).isPositive();
        assertThat(application.warnings()).isEmpty();
    }

    /** Spark's zstd for map statuses is denied too, hence lz4. */
    @Test
    void sortShuffleServesWhereNativeCodeIsDenied(@TempDir Path folder) throws Exception {
        SmallApplication application = run(
                folder,
                ALLOW_UNSAFE,
                "--illegal-native-access=deny",
                "-Dspark.shuffle.mapStatus.compression.codec=lz4");
        assertThat(application.pooled()).isZero();
        assertThat(application.warnings())
                .singleElement()
                .asString()
                .contains("Using Spark's sort shuffle for this application")
                .contains("Illegal native access")
                .contains("--enable-native-access=ALL-UNNAMED");
    }

    private static SmallApplication run(Path folder, String... options) throws IOException, InterruptedException {
        Optional<Path> java = java25();
        assumeTrue(java.isPresent(), "no JDK 25: set JDK25_HOME to one");
        SmallApplication application = SmallApplication.run(java.get(), SparkJars.SPARK_4_2, folder, List.of(options));
        assertThat(application.exitCode())
                .as(() -> String.join("\n", application.output()))
                .isZero();
        return application;
    }

    private static Optional<Path> java25() throws IOException {
        String named = System.getenv("JDK25_HOME");
        if (named != null) {
            return Optional.of(Path.of(named));
        }
        Path installed = Path.of("/usr/lib/jvm");
        if (!Files.isDirectory(installed)) {
            return Optional.empty();
        }
        try (Stream<Path> all = Files.list(installed)) {
            return all.filter(home -> home.getFileName().toString().matches("(.*\\D)?25(\\D.*)?"))
                    .filter(home -> Files.isExecutable(home.resolve("bin/java")))
                    .findFirst();
        }
    }
}
