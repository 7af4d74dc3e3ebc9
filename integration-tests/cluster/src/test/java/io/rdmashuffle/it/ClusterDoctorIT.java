// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The doctor of a cluster, submitted as an application: which path each executor has to each other, and why. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ClusterDoctorIT {
    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path folder;

    /**
     * How the application ended.
     *
     * @param exitCode of the driver's process
     * @param output its standard output
     * @param errors its standard error, logs among it
     */
    private record Ended(int exitCode, String output, String errors) {
        JsonNode json() throws Exception {
            assertThat(output).as(errors).startsWith("{");
            return new ObjectMapper().readTree(output);
        }
    }

    private Ended run(String... settings) throws Exception {
        JavaProcess application = new JavaProcess("io.rdmashuffle.doctor.ClusterDoctor", "--executors", "3", "--json")
                .spark(SparkHome.of(Workspace.find()), JavaModuleOptions.defaultModuleOptions())
                .application(Workspace.find())
                .options(
                        "-XX:TieredStopAtLevel=1",
                        "-Dspark.master=local-cluster[3,1,1024]",
                        "-Dspark.ui.enabled=false",
                        "-Dspark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                        "-Dspark.shuffle.rdma.pool.maxSize=16m",
                        "-Dspark.shuffle.rdma.pool.directory=" + pools.path(),
                        "-Dspark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager");
        for (String setting : settings) {
            application.options("-D" + setting);
        }
        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        Process process = application
                .builder()
                .directory(folder.toFile())
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        try {
            assertThat(process.waitFor(150, TimeUnit.SECONDS))
                    .as("the application ends")
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        return new Ended(process.exitValue(), Files.readString(output), Files.readString(errors));
    }

    @Test
    @Tag("nightly")
    void executorsOfAHostReadInPlace() throws Exception {
        // As many jobs have it, and as those are asked about.
        Ended ended = run("spark.serializer=org.apache.spark.serializer.KryoSerializer");
        JsonNode json = ended.json();
        assertThat(ended.exitCode()).as(ended.output()).isZero();
        assertThat(json.get("executors")).hasSize(3);
        assertThat(json.get("pairs")).hasSize(6).allSatisfy(pair -> {
            assertThat(pair.get("path").asText()).isEqualTo("in-place");
            assertThat(pair.get("best").asBoolean()).isTrue();
            assertThat(pair.get("bytesPerSecond").asLong()).isPositive();
            assertThat(pair.get("reason").asText()).isEmpty();
        });
    }

    /** There is no such device; executors without a one-sided path see the reason. */
    @Test
    void pairsWithoutAOneSidedPathSayWhy() throws Exception {
        Ended ended = run("spark.shuffle.rdma.fabric.mode=verbs", "spark.shuffle.rdma.fabric.verbs.devices=none0");
        assertThat(ended.exitCode()).as(ended.output()).isEqualTo(1);
        assertThat(ended.json().get("pairs")).hasSize(6).allSatisfy(pair -> {
            assertThat(pair.get("path").asText()).isEqualTo("netty");
            assertThat(pair.get("best").asBoolean()).isFalse();
            assertThat(pair.get("reason").asText()).isNotEmpty().doesNotContain("netty failed");
            assertThat(pair.get("bytesPerSecond").asLong()).as("of Netty").isPositive();
            assertThat(pair.get("medianMicros").asDouble()).as("of Netty").isPositive();
        });
        assertThat(ended.json().get("executors")).allSatisfy(executor -> {
            assertThat(executor.get("verdict").asText()).contains("RDMA is not used on this host");
            assertThat(executor.get("findings").get(0).asText()).contains("remedy: ");
        });
    }

    @Test
    @Tag("nightly")
    void anotherShuffleIsNamed() throws Exception {
        Ended ended = run("spark.shuffle.manager=sort");
        assertThat(ended.exitCode()).isEqualTo(2);
        assertThat(ended.output()).isEmpty();
        assertThat(ended.errors()).contains("spark.shuffle.manager names another shuffle");
    }
}
