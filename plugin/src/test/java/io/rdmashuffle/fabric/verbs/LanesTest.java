// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Completions;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Several data threads on one device: each reads through a queue pair of its own. */
@Tag("rdma")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class LanesTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int BYTES = 100_000;
    private static final int READ_BYTES = 5_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(11);

    @Test
    void twoLanesShareTheReads() throws Exception {
        lanesShareTheReads(2);
    }

    @Test
    void fourLanesShareTheReads() throws Exception {
        lanesShareTheReads(4);
    }

    @SuppressWarnings("try")
    private void lanesShareTheReads(int threads) throws Exception {
        VerbsSettings settings = TestVerbs.settings(8 << 20, List.of(), threads, Secret.NONE);
        try (Node owner = new Node(directory, TestVerbs.open(settings));
                Node reader = new Node(directory, TestVerbs.open(settings));
                Lease data = TestPools.filled(owner.pool(), BYTES, random);
                Peer peer = reader.connect(owner)) {
            List<DataThread> lanes = ((VerbsFabric) reader.fabric()).dataThreads();
            assertThat(lanes).hasSize(threads);
            int reads = 25 * threads;
            read(reader, peer, data, reads);
            // Each has had its share, in pieces of readBytes or less.
            assertThat(lanes).allSatisfy(lane -> assertThat(lane.work().reads()).isEqualTo(reads / threads));
            assertThat(reader.fabric().work().lanes()).isEqualTo(threads);
            assertThat(owner.fabric().work().lanes()).isZero();
            List<PeerReadChannel> channels = ((VerbsPeer) peer).channels();
            assertThat(channels)
                    .extracting(channel ->
                            Objects.requireNonNull(channel.connection()).pair().number())
                    .doesNotHaveDuplicates()
                    .hasSize(threads);
        }
    }

    @Test
    @SuppressWarnings("try")
    void oneLaneThatStopsLeavesItsReadsToTheOther() throws Exception {
        VerbsSettings settings = TestVerbs.settings(8 << 20, List.of(), 2, Secret.NONE);
        try (Node owner = new Node(directory, TestVerbs.open(settings));
                Node reader = new Node(directory, TestVerbs.open(settings));
                Lease data = TestPools.filled(owner.pool(), BYTES, random);
                Peer peer = reader.connect(owner)) {
            List<DataThread> lanes = ((VerbsFabric) reader.fabric()).dataThreads();
            read(reader, peer, data, 10);
            lanes.get(0).stop();
            read(reader, peer, data, 10);
            assertThat(lanes.get(0).work().reads()).isEqualTo(5);
            assertThat(lanes.get(1).work().reads()).isEqualTo(15);
        }
    }

    /** Reads {@code count} pieces concurrently and compares them to their source. */
    private void read(Node reader, Peer peer, Lease data, int count) throws Exception {
        Completions completions = new Completions();
        List<ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long offset = random.nextInt(BYTES - READ_BYTES);
            requests.add(new ReadRequest(
                    List.of(new RemoteSlice(data.region().id(), data.offset() + offset, READ_BYTES)),
                    TestPools.reserve(reader.pool(), Purpose.RECEIVE, READ_BYTES),
                    System.nanoTime() + LONG.toNanos(),
                    completions));
        }
        requests.forEach(request -> assertThat(peer.read(request)).isTrue());
        completions.await(requests);
        MemorySlice region = data.region().memory();
        for (ReadRequest request : requests) {
            assertThat(completions.succeededOne(request)).isTrue();
            long offset = request.sources().get(0).offset();
            assertThat(TestPools.bytes(request.target().memory().slice(0, READ_BYTES)))
                    .isEqualTo(TestPools.bytes(region.slice(offset, READ_BYTES)));
            request.target().close();
        }
    }
}
