// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.harness.fixture.PoolFolder;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

@Tag("unit")
@Timeout(60)
class ShmReadsTest {
    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private static Spread rate(double bytesPerSecond) {
        return new Spread(bytesPerSecond, bytesPerSecond, bytesPerSecond);
    }

    @Test
    void everySizeIsMeasuredBesideACopy() throws Exception {
        List<ShmReads.Pair> pairs = new ShmReads(List.of(64, 4096), 2, 1).measure(pools.path());
        assertThat(pairs).extracting(ShmReads.Pair::size).containsExactly(64, 4096);
        assertThat(pairs).allSatisfy(pair -> assertThat(pair.ratio()).isPositive());
    }

    @Test
    void theGoalIsForLargeReads() {
        String table = ShmReads.render(List.of(
                new ShmReads.Pair(4096, rate(1e9), rate(4e9)),
                new ShmReads.Pair(1 << 20, rate(7e9), rate(10e9)),
                new ShmReads.Pair(4 << 20, rate(9e9), rate(10e9))));
        assertThat(table.lines().toList())
                .anySatisfy(line -> assertThat(line).contains("4096", "0.25").doesNotContain(">="))
                .anySatisfy(line -> assertThat(line).contains("1048576", "0.70", ">= 0.8"));
        assertThat(table).endsWith("1 of the sizes from 1 MiB on are below a ratio of 0.8");
    }

    @Test
    void theCommandWritesJson(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("shm.json");
        int exit = new FabricBench()
                .commandLine()
                .execute("--shm", "--sizes", "4096", "--rounds", "1", "--bytes", "1", "--json", file.toString());
        assertThat(exit).isZero();
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/cases/0/name").asText()).isEqualTo("shm-4096");
        assertThat(json.at("/cases/0/ratio").asDouble()).isPositive();
    }

    @Test
    void wrongOptionsAreRefused() {
        CommandLine commandLine = new FabricBench().commandLine();
        StringWriter err = new StringWriter();
        commandLine.setErr(new PrintWriter(err));
        assertThat(commandLine.execute("--shn")).isEqualTo(2);
        assertThat(commandLine.execute("--shm", "--rounds", "0")).isEqualTo(2);
        assertThat(err.toString()).contains("--shn").contains("--shm").contains("--rounds");
    }
}
