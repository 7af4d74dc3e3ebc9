// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class SparkSettingsTest {
    private static final String ALLOCATION = "spark.dynamicAllocation.enabled";
    private static final String TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled";

    private static boolean keepsOutputs(String... settings) {
        Map<String, String> all = new HashMap<>(Map.of("spark.shuffle.rdma.outlive.enabled", "true"));
        for (int i = 0; i < settings.length; i += 2) {
            all.put(settings[i], settings[i + 1]);
        }
        return new SparkSettings(all::get).keepsOutputs(ShuffleConfig.read(all));
    }

    @Test
    void outputsAreKeptUnlessSparkWouldEndExecutorsForIt() {
        assertThat(keepsOutputs()).isTrue();
        assertThat(keepsOutputs(ALLOCATION, "true")).as("Spark tracks shuffles").isTrue();
        assertThat(keepsOutputs(ALLOCATION, "true", TRACKING, "false")).isFalse();
        assertThat(keepsOutputs(ALLOCATION, "true", TRACKING, "false", "spark.decommission.enabled", "true"))
                .as("Spark moves map outputs first")
                .isTrue();
        assertThat(keepsOutputs(ALLOCATION, "true", TRACKING, "false", "spark.shuffle.service.enabled", "true"))
                .isTrue();
    }

    @Test
    void withoutSharedMemoryOnlyTheServiceKeepsOutputs() {
        assertThat(keepsOutputs("spark.shuffle.rdma.fabric.mode", "tcp")).isFalse();
        assertThat(keepsOutputs("spark.shuffle.rdma.fabric.mode", "tcp", "spark.shuffle.service.enabled", "true"))
                .isTrue();
        assertThat(keepsOutputs("spark.shuffle.rdma.outlive.enabled", "false")).isFalse();
    }
}
