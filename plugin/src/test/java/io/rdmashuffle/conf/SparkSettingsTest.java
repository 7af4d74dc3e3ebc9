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
    private static final String SERVICE = "spark.shuffle.service.enabled";
    private static final String OUTLIVE = "spark.shuffle.rdma.outlive.enabled";
    private static final String TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled";

    private static boolean keepsOutputs(String... settings) {
        Map<String, String> all = new HashMap<>();
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
        assertThat(keepsOutputs(ALLOCATION, "true", TRACKING, "false", SERVICE, "true", OUTLIVE, "true"))
                .isTrue();
    }

    @Test
    void withoutSharedMemoryOnlyTheServiceKeepsOutputs() {
        assertThat(keepsOutputs("spark.shuffle.rdma.fabric.mode", "tcp")).isFalse();
        assertThat(keepsOutputs("spark.shuffle.rdma.fabric.mode", "tcp", SERVICE, "true", OUTLIVE, "true"))
                .isTrue();
        assertThat(keepsOutputs(OUTLIVE, "false")).isFalse();
    }

    @Test
    void aServiceServesThePoolOnlyIfAskedTo() {
        assertThat(new SparkSettings(Map.of(SERVICE, "true")::get).isServed()).isFalse();
        assertThat(new SparkSettings(Map.of(SERVICE, "true", OUTLIVE, "true")::get).isServed())
                .isTrue();
        assertThat(new SparkSettings(Map.of(OUTLIVE, "true")::get).isServed()).isFalse();
    }

    @Test
    void outputsAreMigratedIfAHostMayLoseAllExecutors() {
        assertThat(new SparkSettings(Map.of(ALLOCATION, "true")::get).mayEndAllOfAHost())
                .isFalse();
        assertThat(new SparkSettings(Map.of(ALLOCATION, "true", TRACKING, "false")::get).mayEndAllOfAHost())
                .isTrue();
        assertThat(new SparkSettings(Map.of("spark.storage.decommission.fallbackStorage.path", "s3a://x")::get)
                        .mayEndAllOfAHost())
                .isTrue();
    }
}
