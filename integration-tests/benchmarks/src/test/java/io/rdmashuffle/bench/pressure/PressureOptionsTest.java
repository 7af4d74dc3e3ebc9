// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.Refusals;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class PressureOptionsTest {
    private static final String POOL = "spark.shuffle.rdma.pool.maxSize";
    private static final PressureOptions.Folders FOLDERS =
            new PressureOptions.Folders(Path.of("/l"), Path.of("/w"), new GarbageLog(Path.of("/g")));

    private final PressureBench bench = new PressureBench();
    private final CommandLine commandLine = bench.commandLine();

    private Map<String, String> ours(Transfer transfer, @Nullable Long poolBytes, String... args) {
        commandLine.parseArgs(args);
        return bench.options.oursConf(transfer, poolBytes, FOLDERS);
    }

    @Test
    void defaultsGoFromTwiceTheDataToNothingBothWays() {
        commandLine.parseArgs();
        assertThat(bench.options.sizes()).extracting(PoolShare::share).containsExactly(2.0, 1.0, 0.5, 0.1, 0.01, 0.0);
        assertThat(bench.options.transfers()).containsExactly(Transfer.values());
        assertThat(bench.options.rows()).isEqualTo(4_000_000);
        // A probe, three warm-ups of sort shuffle, and six sizes of three warm-ups and three rounds.
        assertThat(PressureRun.steps(bench.options)).isEqualTo(2 * (4 + 6 * 6));
    }

    @Test
    void aPoolHasItsShareOfTheDataAndNeverLessThanItMust() {
        assertThat(PoolShare.parse("1/10").bytes(100 << 20)).isEqualTo(10 << 20);
        assertThat(PoolShare.parse(" 2 ").bytes(100 << 20)).isEqualTo(200 << 20);
        assertThat(PoolShare.parse("0").bytes(100 << 20)).isEqualTo(1 << 20);
        assertThat(PoolShare.parse("1/3").bytes(10_000_000) % 1024).isZero();
    }

    @Test
    void theProbeHasThePoolOfTheOptionAndTheOthersTheirs() {
        assertThat(ours(Transfer.IN_PLACE, null, "--pool", "2g")).containsEntry(POOL, "2g");
        assertThat(ours(Transfer.IN_PLACE, 5L << 20, "--pool", "2g")).containsEntry(POOL, "5242880");
        assertThat(ours(Transfer.IN_PLACE, 5L << 20, "--fabric", "sort")).doesNotContainKey(POOL);
    }

    @Test
    void copyingIsSetOnBothSidesUnlessTheUserSaysOtherwise() {
        assertThat(ours(Transfer.COPYING, null))
                .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "false")
                .containsEntry("spark.shuffle.readHostLocalDisk", "false");
        assertThat(bench.options.sortConf(Configuration.SORT_DISK, Transfer.COPYING, FOLDERS))
                .containsEntry("spark.shuffle.readHostLocalDisk", "false")
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKey("spark.shuffle.rdma.fabric.shm.inPlace");
        assertThat(ours(Transfer.COPYING, null, "--conf", "spark.shuffle.readHostLocalDisk=true"))
                .containsEntry("spark.shuffle.readHostLocalDisk", "true");
        assertThat(ours(Transfer.IN_PLACE, null)).doesNotContainKey("spark.shuffle.readHostLocalDisk");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--sizes", "half"))
                .contains("--sizes half")
                .contains("2,1,1/10,0");
        assertThat(Refusals.of(commandLine, "--sizes", "1/0")).contains("--sizes 1/0");
        assertThat(Refusals.of(commandLine, "--transfer", "rdma"))
                .contains("--transfer rdma")
                .contains("in-place, copying");
        assertThat(Refusals.of(commandLine, "--cases", "sort"))
                .contains("--cases sort")
                .contains("terasort-400");
        assertThat(Refusals.of(commandLine, "--warmups", "-1")).contains("--warmups -1");
        assertThat(Refusals.of(commandLine, "--size", "1")).contains("--sizes").contains("--report");
    }
}
