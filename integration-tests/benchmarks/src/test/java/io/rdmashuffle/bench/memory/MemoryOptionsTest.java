// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Refusals;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class MemoryOptionsTest {
    private final MemoryBench bench = new MemoryBench();
    private final CommandLine commandLine = bench.commandLine();

    private Map<String, String> conf(boolean ours, String... args) {
        commandLine.parseArgs(args);
        ProbeFolders folders = new ProbeFolders("/jobs.jar", Path.of("/l"), Path.of("/s"), Path.of("/p"));
        return bench.options.conf(ours, 100, folders);
    }

    /** Runs what must end before anything starts. */
    @Test
    void allJobsRunUnlessSomeAreNamed() {
        commandLine.parseArgs();
        bench.options.check();
        assertThat(bench.options.jobs()).containsExactly(MemoryJob.values());
        commandLine.parseArgs("--jobs", "one-partition,window-200");
        assertThat(bench.options.jobs()).containsExactly(MemoryJob.WINDOW, MemoryJob.ONE_PARTITION);
        assertThat(commandLine.getUsageMessage()).contains(MemoryJob.labels().split(", ", -1)[0]);
    }

    @Test
    void bothAreAlikeButForTheirShuffle() {
        String[] args = {"--conf", "spark.a=b", "--ours-conf", "spark.a=c", "--pool", "2g", "--reserved", "10"};
        for (boolean ours : new boolean[] {false, true}) {
            assertThat(conf(ours, args))
                    .containsEntry("spark.master", "local-cluster[1,1,100]")
                    .containsEntry("spark.executor.memory", "100m")
                    .containsEntry("spark.testing.reservedMemory", "10485760")
                    .containsEntry("spark.task.maxFailures", "1")
                    .containsEntry("spark.executor.extraClassPath", "/jobs.jar")
                    .containsEntry("spark.local.dir", "/s");
        }
        assertThat(conf(true, args))
                .containsEntry("spark.a", "c")
                .containsEntry("spark.shuffle.rdma.pool.maxSize", "2g")
                .containsEntry("spark.shuffle.rdma.pool.directory", "/p");
        assertThat(conf(false, args))
                .containsEntry("spark.a", "b")
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKey("spark.shuffle.rdma.pool.maxSize");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--job", "window-200"))
                .contains("--job")
                .contains("--jobs, --rows");
        assertThat(Refusals.of(commandLine, "--jobs", "window"))
                .contains("--jobs window")
                .contains(MemoryJob.labels());
        assertThat(Refusals.of(commandLine, "--rows", "0")).contains("--rows 0").contains("1 and more");
        assertThat(Refusals.of(commandLine, "--min", "71")).contains("--min 71").contains("72 to 100000");
        assertThat(Refusals.of(commandLine, "--max", "71")).contains("--max 71").contains("72 to 100000");
        assertThat(Refusals.of(commandLine, "--reserved", "0")).contains("--reserved 0");
        assertThat(Refusals.of(commandLine, "--repeats", "0")).contains("--repeats 0");
        assertThat(Refusals.of(commandLine, "--timeout", "0")).contains("--timeout 0");
        assertThat(Refusals.of(commandLine, "--pool", "much"))
                .contains("--pool much")
                .contains("k, m, g");
        assertThat(Refusals.of(commandLine, "--fabric", "ucx")).contains("auto, shm, verbs, tcp, ofi, netty, sort");
        assertThat(Refusals.of(commandLine, "--conf", "a=b")).contains("spark.");
        assertThat(Refusals.of(commandLine, "window-200")).contains("window-200");
    }
}
