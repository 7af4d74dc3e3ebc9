// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.main;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the jar's commands, and of invalid command lines. */
@Tag("unit")
@Timeout(60)
class MainTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private int run(String... words) {
        out.reset();
        err.reset();
        return Main.run(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                List.of(words));
    }

    private String out() {
        return out.toString(StandardCharsets.UTF_8);
    }

    private void assertMisuse(String message, String... words) {
        assertThat(run(words)).isEqualTo(64);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains(message);
        assertThat(out()).isEmpty();
    }

    @Test
    void everyCommandExplainsItself() {
        assertThat(run("--help")).isZero();
        assertThat(out()).contains("doctor", "--version", "RdmaShuffleManager");
        assertThat(run("--version")).isZero();
        assertThat(out()).startsWith("rdma-shuffle-spark ");
        assertThat(run("doctor", "--help")).isZero();
        assertThat(out()).contains("--conf-file FILE", "--conf KEY=VALUE", "--executors N", "--json", "Exit code");
    }

    @Test
    void unknownArgumentsAreRefusedWithTheValidOnes(@TempDir Path folder) throws Exception {
        assertMisuse("there are: doctor --version --help");
        assertMisuse("unknown command 'check'", "check");
        assertMisuse(
                "unknown option --jsn; there are: --conf-file --conf --executors --peer --json --help",
                "doctor",
                "--jsn");
        assertMisuse("unknown option host1", "doctor", "host1");
        assertMisuse("--conf-file needs a value: FILE", "doctor", "--conf-file");
        assertMisuse("--json has no value", "doctor", "--json=yes");
        assertMisuse("must be KEY=VALUE", "doctor", "--conf", "spark.shuffle.manager");
        assertMisuse("must be an integer from 1 to 1024", "doctor", "--executors", "0");
        assertMisuse(
                "cannot be read",
                "doctor",
                "--conf-file",
                folder.resolve("none").toString());
        Path binary = Files.write(folder.resolve("binary"), new byte[] {'k', '=', '\\', 'u', 'x'});
        assertMisuse("cannot be read", "doctor", "--conf-file", binary.toString());
    }

    @Test
    void aFileIsReadAsSparkReadsItAndSettingsGoBefore(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("spark-defaults.conf"), """
                # a comment
                spark.shuffle.manager   io.rdmashuffle.spark.RdmaShuffleManager
                spark.shuffle.rdma.pool.maxSize=10q
                """);
        assertThat(run("doctor", "--conf-file", file.toString())).isEqualTo(2);
        assertThat(out()).contains("fail configuration     spark.shuffle.rdma.pool.maxSize=10q");
        assertThat(run("doctor", "--json", "--conf-file=" + file, "--conf", "spark.shuffle.rdma.pool.maxSize=8m"))
                .isLessThan(2);
        assertThat(out()).startsWith("{").contains("\"version\": \"(not packaged)\"");
    }
}
