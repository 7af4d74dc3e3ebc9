// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(180)
class HostVerdictTest {
    @TempDir
    Path folder;

    private String verdict(Path jar, String maxSize) throws InterruptedException {
        Map<String, String> conf = Map.of(
                "spark.shuffle.manager",
                "io.rdmashuffle.spark.RdmaShuffleManager",
                "spark.shuffle.rdma.pool.maxSize",
                maxSize,
                "spark.master",
                "local");
        return new HostVerdict(jar, conf, 2, folder.resolve("doctor.json")).line();
    }

    @Test
    void isTheDoctorsOfTheseSettings() throws InterruptedException {
        Path jar = Workspace.find().pluginJar();
        assertThat(verdict(jar, "64m")).startsWith("doctor: ").contains("RDMA").doesNotContain("does not start");
        assertThat(verdict(jar, "nothing")).contains("does not start (configuration)");
    }

    @Test
    void aDoctorThatDoesNotAnswerIsNoFailure() throws InterruptedException {
        assertThat(verdict(folder.resolve("no.jar"), "64m")).startsWith("doctor: no verdict");
    }
}
