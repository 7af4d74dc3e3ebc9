// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class DemoOptionsTest {
    private final Demo demo = new Demo();
    private final CommandLine commandLine = demo.commandLine();

    private DemoOptions parse(String... args) {
        commandLine.parseArgs(args);
        return demo.options;
    }

    /** Runs what must end before anything starts. */
    private String refused(String... args) {
        StringWriter err = new StringWriter();
        commandLine.setErr(new PrintWriter(err));
        assertThat(commandLine.execute(args)).isEqualTo(2);
        return err.toString();
    }

    @Test
    void defaultsAreADozenKnownQueriesAtATenth() throws IOException {
        DemoOptions options = parse();
        assertThat(options.scale()).isEqualByComparingTo("0.1");
        assertThat(options.fabric()).isEqualTo(ShuffleMode.AUTO);
        assertThat(options.executors()).isEqualTo(2);
        assertThat(QueryCatalogue.load().resolve(options.queries())).hasSize(12).isEqualTo(options.queries());
    }

    @Test
    void confIsForOursOnlyAndWins() {
        DemoOptions options = parse(
                "--fabric",
                "netty",
                "--conf",
                "spark.a=b=c",
                "--conf",
                "spark.sql.shuffle.partitions=3",
                "--common-conf",
                "spark.x=y",
                "--executors",
                "3");
        assertThat(options.ourConf())
                .containsEntry("spark.a", "b=c")
                .containsEntry("spark.sql.shuffle.partitions", "3")
                .containsEntry("spark.x", "y")
                .containsEntry("spark.master", "local-cluster[3,1,1024]")
                .containsEntry("spark.shuffle.manager", "io.rdmashuffle.spark.RdmaShuffleManager")
                .containsEntry("spark.shuffle.rdma.fabric.mode", "netty");
        assertThat(options.sortConf())
                .containsEntry("spark.x", "y")
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKeys("spark.a", "spark.shuffle.rdma.fabric.mode");
    }

    @Test
    void sortAgainstSortLoadsNothingOfOurs() {
        assertThat(parse("--fabric", "sort").ourConf())
                .containsAllEntriesOf(Map.of("spark.shuffle.manager", "sort"))
                .doesNotContainKey("spark.shuffle.rdma.fabric.mode");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(refused("--fabrik", "shm")).contains("--fabrik").contains("--fabric, --scale, --queries");
        assertThat(refused("--fabric", "ucx")).contains("ucx").contains("auto, shm, verbs, tcp, ofi, netty, sort");
        assertThat(refused("--scale", "0")).contains("--scale 0").contains("0.01 to 100");
        assertThat(refused("--scale", "big")).contains("big").contains("--scale");
        assertThat(refused("--executors", "0")).contains("--executors 0").contains("1 to 16");
        assertThat(refused("--queries", "q3,q100")).contains("q100").contains("q99");
        assertThat(refused("--conf", "spark.a")).contains("KEY=VALUE");
        assertThat(refused("--conf", "a=b")).contains("spark.");
        assertThat(refused("q3")).contains("q3");
    }
}
