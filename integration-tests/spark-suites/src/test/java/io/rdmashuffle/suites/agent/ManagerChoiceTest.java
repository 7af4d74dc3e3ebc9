// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites.agent;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ManagerChoiceTest {
    private static final String MANAGER = "spark.shuffle.manager";
    private static final String MODE = "spark.shuffle.rdma.fabric.mode";

    @BeforeEach
    void choose() {
        System.setProperty(ManagerChoice.PREFIX + MANAGER, "ours");
        System.setProperty(ManagerChoice.PREFIX + MODE, "shm");
    }

    @AfterEach
    void forget() {
        System.clearProperty(ManagerChoice.PREFIX + MANAGER);
        System.clearProperty(ManagerChoice.PREFIX + MODE);
    }

    @Test
    void takesThePlaceOfSparksOwnManager() {
        for (String own :
                new String[] {"", "sort", "Tungsten-Sort", "org.apache.spark.shuffle.sort.SortShuffleManager"}) {
            SparkConf conf = new SparkConf(false);
            if (!own.isEmpty()) {
                conf.set(MANAGER, own);
            }
            ManagerChoice.apply(conf);
            assertThat(conf.get(MANAGER)).isEqualTo("ours");
            assertThat(conf.get(MODE)).isEqualTo("shm");
        }
    }

    @Test
    void leavesASuitesOwnManagerAndOtherKeysAlone() {
        SparkConf conf = new SparkConf(false).set(MANAGER, "org.example.Mock").set(MODE, "netty");
        ManagerChoice.apply(conf);
        assertThat(conf.get(MANAGER)).isEqualTo("org.example.Mock");
        assertThat(conf.get(MODE)).isEqualTo("netty");
    }
}
