// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.Workspace;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands of the released jar, run as a user does: with nothing else on the class path. */
@Tag("system")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class DoctorIT {
    private static final Path JAR = Workspace.find().pluginJar();

    @TempDir
    Path folder;

    /**
     * What a command printed, and how it ended.
     *
     * @param exitCode of the process
     * @param output standard output
     */
    private record Ended(int exitCode, String output) {}

    private Ended run(String... words) throws Exception {
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(
                List.of(ProcessHandle.current().info().command().orElseThrow(), "-jar", JAR.toString()));
        command.addAll(List.of(words));
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(folder.resolve("errors").toFile())
                .start();
        try {
            assertThat(process.waitFor(60, TimeUnit.SECONDS))
                    .as("%s ends", command)
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(folder.resolve("errors")))
                .as("errors of %s", command)
                .isEmpty();
        return new Ended(process.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
    }

    /** On a machine with a device too: no device is called so. */
    @Test
    void aHostWithoutThePortRunsWithoutRdmaAndSaysWhy() throws Exception {
        Path conf = Files.writeString(folder.resolve("spark-defaults.conf"), """
                spark.shuffle.manager                      io.rdmashuffle.spark.RdmaShuffleManager
                spark.shuffle.rdma.fabric.verbs.devices    none0
                spark.shuffle.rdma.pool.maxSize            64m
                """);
        Ended ended = run("doctor", "--json", "--conf-file", conf.toString());
        JsonNode json = new ObjectMapper().readTree(ended.output());
        assertThat(ended.exitCode()).isEqualTo(1);
        assertThat(json.get("exitCode").asInt()).isEqualTo(1);
        assertThat(json.get("rdma").asBoolean()).isFalse();
        assertThat(JAR.getFileName().toString()).contains(json.get("version").asText());
        assertThat(json.get("findings")).anySatisfy(finding -> {
            assertThat(finding.get("check").asText()).isIn("ports", "libraries");
            assertThat(finding.get("status").asText()).isEqualTo("warn");
            assertThat(finding.get("remedy").asText()).isNotEmpty();
        });
        assertThat(json.get("findings")).anySatisfy(finding -> {
            assertThat(finding.get("check").asText()).isEqualTo("native-code");
            assertThat(finding.get("status").asText()).isEqualTo("ok");
        });
    }

    @Test
    void settingsThatDoNotStartAreNamed() throws Exception {
        Path conf = Files.writeString(folder.resolve("spark-defaults.conf"), """
                spark.shuffle.manager             io.rdmashuffle.spark.RdmaShuffleManager
                spark.shuffle.rdma.pool.maxsize   1g
                """);
        Ended ended = run("doctor", "--conf-file", conf.toString());
        assertThat(ended.exitCode()).isEqualTo(2);
        assertThat(ended.output())
                .contains("fail configuration", "the nearest is spark.shuffle.rdma.pool.maxSize")
                .endsWith("The application does not start (configuration). Exit code 2.\n");
    }

    @Test
    void theJarTellsItsVersion() throws Exception {
        Ended ended = run("--version");
        assertThat(ended.exitCode()).isZero();
        assertThat(JAR.getFileName()).hasToString(ended.output().strip().replace(' ', '-') + ".jar");
    }
}
