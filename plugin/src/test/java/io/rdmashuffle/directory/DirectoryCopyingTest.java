// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class DirectoryCopyingTest extends DirectoryContract {
    private static final int SHUFFLE = 9;
    private static final int MAPS = 20;

    DirectoryCopyingTest() {
        super(false);
    }

    /** Wants one partition of each map output, as a reduce task does. */
    private static List<WantedRange> task(List<TestOutput> outputs, int partition) {
        return outputs.stream()
                .map(each -> new WantedRange(SHUFFLE, each.output().entry(), partition, partition + 1))
                .toList();
    }

    /** Runs tasks of a reader of that many map outputs and partitions. */
    private void withReader(int maps, int partitions, Tasks tasks) throws Exception {
        try (Node owner = new Node(path, new ShmFabric(1, 16 << 20, false));
                Node reader = new Node(path, new ShmFabric(1, 16 << 20, false));
                MapOutputDirectory directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
                Peer peer = reader.connect(owner)) {
            List<TestOutput> outputs = new ArrayList<>();
            for (int map = 0; map < maps; map++) {
                outputs.add(TestOutput.random(owner.pool(), map, partitions, 9, new Random(map)));
            }
            CountingPeer counting = new CountingPeer(peer);
            BlockingReads reads =
                    new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(10)), Duration.ofSeconds(10));
            IndexCache cache = new IndexCache(16 << 20);
            try {
                tasks.run(
                        new RemoteDirectory(counting.peer(), directory.location(), reads, cache),
                        outputs,
                        counting,
                        cache);
            } finally {
                outputs.forEach(each -> each.output().close());
            }
        }
    }

    private interface Tasks {
        void run(RemoteDirectory remote, List<TestOutput> outputs, CountingPeer peer, IndexCache cache)
                throws Exception;
    }

    @Test
    void indexesAreReadOnceForTheTasksOfAnExecutor() throws Exception {
        withReader(MAPS, 50, (remote, outputs, peer, cache) -> {
            remote.ranges(task(outputs, 0));
            assertThat(peer.takeLooks()).isPositive();
            for (int partition = 1; partition < 50; partition++) {
                List<BlockRange> ranges = remote.ranges(task(outputs, partition));
                for (int map = 0; map < MAPS; map++) {
                    BlockRange own = outputs.get(map).output().range(partition, partition + 1);
                    assertThat(ranges.get(map).slices()).isEqualTo(own.slices());
                    assertThat(ranges.get(map).checksums()).isEqualTo(own.checksums());
                }
                remote.range(task(outputs, partition).get(3));
            }
            // A view of the first index is asked for, in case that the fabric has views by now.
            assertThat(peer.takeLooks()).isLessThanOrEqualTo(49);
        });
    }

    @Test
    void aShuffleThatIsForgottenIsReadAgain() throws Exception {
        withReader(MAPS, 50, (remote, outputs, peer, cache) -> {
            remote.ranges(task(outputs, 0));
            assertThat(cache.bytes()).isPositive();
            remote.forget(SHUFFLE + 1);
            assertThat(cache.bytes()).isPositive();
            remote.forget(SHUFFLE);
            assertThat(cache.bytes()).isZero();
            remote.ranges(task(outputs, 0));
            assertThat(cache.bytes()).isPositive();
            remote.outdated(SHUFFLE);
            assertThat(cache.bytes()).isZero();
            remote.ranges(task(outputs, 0));
            remote.forget();
            assertThat(cache.bytes()).isZero();
        });
    }

    @Test
    void largeIndexesAreReadInParts() throws Exception {
        withReader(2, 6000, (remote, outputs, peer, cache) -> {
            List<BlockRange> ranges = remote.ranges(task(outputs, 4321));
            assertThat(ranges.get(1).slices())
                    .isEqualTo(outputs.get(1).output().range(4321, 4322).slices());
            assertThat(cache.bytes()).isZero();
        });
    }
}
