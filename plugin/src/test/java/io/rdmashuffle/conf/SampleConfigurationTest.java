// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("unit")
class SampleConfigurationTest {
    static List<Path> samples() throws IOException {
        try (Stream<Path> files = Files.list(ProjectFiles.path("conf"))) {
            return files.filter(file -> file.toString().endsWith(".conf"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void everyPromisedSampleIsThere() throws IOException {
        assertThat(samples())
                .extracting(file -> file.getFileName().toString())
                .contains(
                        "single-machine.conf",
                        "ethernet.conf",
                        "roce.conf",
                        "infiniband.conf",
                        "kubernetes.conf",
                        "yarn.conf");
    }

    @ParameterizedTest
    @MethodSource("samples")
    void sampleIsAccepted(Path sample) throws IOException {
        // Spark reads spark-defaults.conf as Java properties too.
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(sample)) {
            properties.load(reader);
        }
        Map<String, String> settings = properties.stringPropertyNames().stream()
                .collect(Collectors.toMap(key -> key, key -> properties.getProperty(key)));

        ShuffleConfig config = ShuffleConfig.read(settings);

        assertThat(settings)
                .containsEntry("spark.shuffle.manager", "io.rdmashuffle.spark.RdmaShuffleManager")
                .allSatisfy((key, value) -> assertThat(key).startsWith("spark."));
        assertThat(overheadBytes(settings))
                .as("room for the pool in spark.executor.memoryOverhead")
                .isGreaterThan(config.get(ShuffleConfig.POOL_MAX_SIZE));
    }

    /** Spark counts a bare number as MiB here; the samples write the suffix. */
    private static long overheadBytes(Map<String, String> settings) {
        return ByteSize.parse(settings.getOrDefault("spark.executor.memoryOverhead", "0"));
    }
}
