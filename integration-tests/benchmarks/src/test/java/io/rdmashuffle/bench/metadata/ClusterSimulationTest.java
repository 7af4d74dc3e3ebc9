// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.metadata.ClusterSimulation.Cluster;
import io.rdmashuffle.bench.metadata.ClusterSimulation.Result;
import io.rdmashuffle.harness.fixture.PoolFolder;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("unit")
class ClusterSimulationTest {
    private static final int ROW_BYTES = 20;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @Test
    void readsGrowWithPeersAndBytesWithRows() throws Exception {
        ClusterSimulation simulation = new ClusterSimulation(pools.path());
        Result few = simulation.run(new Cluster(20, 30));
        Result more = simulation.run(new Cluster(40, 30));
        assertThat(few.later().reads()).isEqualTo(20);
        assertThat(more.later().reads()).isEqualTo(40);
        for (Result each : List.of(few, more)) {
            assertThat(each.later().readBytes())
                    .isBetween(
                            (double) ROW_BYTES * each.cluster().mapOutputs(),
                            4.0 * ROW_BYTES * each.cluster().mapOutputs());
        }
        assertThat(new ClusterReport(List.of(few, more)).render()).contains("executors", "1200");
    }
}
