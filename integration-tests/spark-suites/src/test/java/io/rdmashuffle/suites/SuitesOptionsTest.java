// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class SuitesOptionsTest {
    private final SparkSuites suites = new SparkSuites();
    private final CommandLine commandLine = suites.commandLine();

    private SuitesOptions parse(String... args) {
        commandLine.parseArgs(args);
        suites.options.check();
        return suites.options;
    }

    /** Runs what must end before anything starts. */
    private String refused(String... args) {
        StringWriter err = new StringWriter();
        commandLine.setErr(new PrintWriter(err));
        assertThat(commandLine.execute(args)).isEqualTo(2);
        return err.toString();
    }

    @Test
    void defaultIsTheWholeSetWithOurs() {
        SuitesOptions options = parse();
        assertThat(options.suites()).hasSize(8).contains("ShuffleSuite", "DistributedSuite", "JoinSuite");
        assertThat(options.applicationConf())
                .isEqualTo(Map.of(
                        "spark.shuffle.manager",
                        "io.rdmashuffle.spark.RdmaShuffleManager",
                        "spark.shuffle.rdma.fabric.mode",
                        "auto"));
    }

    @Test
    void namedSuitesReplaceTheSetAndConfIsAdded() {
        SuitesOptions options = parse("JoinSuite", "--fabric", "netty", "--conf", "spark.a=b", "ExchangeSuite");
        assertThat(options.suites()).containsExactly("JoinSuite", "ExchangeSuite");
        assertThat(options.applicationConf())
                .containsEntry("spark.a", "b")
                .containsEntry("spark.shuffle.rdma.fabric.mode", "netty");
    }

    @Test
    void sortTwoWays() {
        assertThat(parse("--manager", "sort").fabric()).isEqualTo(ShuffleMode.SORT);
        assertThat(parse("--fabric", "sort").fabric()).isEqualTo(ShuffleMode.SORT);
        assertThat(parse("--manager", "sort").applicationConf()).isEqualTo(Map.of("spark.shuffle.manager", "sort"));
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(refused("--fabrik", "shm")).contains("--fabrik").contains("--fabric, --manager, --conf");
        assertThat(refused("--fabric", "ucx")).contains("ucx").contains("auto, shm, verbs, tcp, ofi, netty, sort");
        assertThat(refused("--manager", "hash")).contains("hash").contains("rdma, sort");
        assertThat(refused("--manager", "rdma", "--fabric", "sort")).contains("contradict");
        assertThat(refused("--timeout", "0")).contains("--timeout 0");
        assertThat(refused("--conf", "a=b")).contains("spark.");
    }
}
