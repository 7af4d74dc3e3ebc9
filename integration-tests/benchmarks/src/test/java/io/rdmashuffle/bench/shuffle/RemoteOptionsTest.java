// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.Refusals;
import io.rdmashuffle.bench.link.LinkModel;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

@Tag("unit")
class RemoteOptionsTest {
    private final RemoteBench bench = new RemoteBench();
    private final CommandLine commandLine = bench.commandLine();

    private Map<String, String> conf(Configuration configuration, String... args) {
        commandLine.parseArgs(args);
        return bench.options.conf(configuration, Path.of("/l"), Path.of("/w"), new GarbageLog(Path.of("/g")));
    }

    @Test
    void nothingIsReadInPlaceOrFromThisHostsDisks() {
        for (Configuration configuration : Configuration.values()) {
            assertThat(conf(configuration)).containsEntry("spark.shuffle.readHostLocalDisk", "false");
        }
        assertThat(conf(Configuration.OURS)).containsEntry(LinkModel.GIGABITS, "100.0");
        assertThat(conf(Configuration.SORT_DISK)).doesNotContainKey(LinkModel.GIGABITS);
        assertThat(conf(Configuration.OURS, "--unmodelled"))
                .containsEntry("spark.shuffle.rdma.fabric.shm.inPlace", "false")
                .doesNotContainKey(LinkModel.GIGABITS);
    }

    @Test
    void tcpHasNoModelOfALink() {
        assertThat(conf(Configuration.OURS, "--fabric", "tcp"))
                .containsEntry("spark.shuffle.rdma.fabric.mode", "tcp")
                .doesNotContainKey(LinkModel.GIGABITS);
        assertThat(Refusals.of(commandLine, "--link", "0.8")).contains("--link");
    }

    @Test
    void theReportSaysWhichLink() {
        commandLine.parseArgs("--gigabits", "25", "--delay", "7.5");
        assertThat(bench.options.settings()).containsEntry("link", "25.0 Gb/s, 7.5 us");
        commandLine.parseArgs("--unmodelled");
        assertThat(bench.options.settings()).containsEntry("link", "none");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--gigabits 0", "--gigabits -1", "--gigabits NaN", "--delay -1", "--delay 1e9", "--rows 0"})
    void linksThatCannotBeAreRefused(String args) {
        String[] refused = args.split(" ", -1);
        assertThat(Refusals.of(commandLine, refused)).contains(refused[0]);
    }
}
