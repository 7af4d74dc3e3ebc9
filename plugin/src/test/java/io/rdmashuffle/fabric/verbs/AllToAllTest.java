// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.ResourceLedger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Many endpoints on one device, each with threads, queues and an address of its own, that all begin to read from all
 * others at the same moment, as executors do at the start of a stage.
 *
 * <p>Their number is {@code -Drdmashuffle.fleet.endpoints}. Each connection takes three mappings of this process, so
 * {@code vm.max_map_count} bounds it.
 */
@Tag("fleet")
@Timeout(3600)
@ExtendWith(LeakCheck.class)
class AllToAllTest {
    private static final int ENDPOINTS = Integer.getInteger("rdmashuffle.fleet.endpoints", 40);
    private static final Duration CONNECT_TIMEOUT =
            Duration.ofSeconds(Integer.getInteger("rdmashuffle.fleet.connectTimeoutSeconds", 15));
    private static final Duration READ_TIMEOUT =
            Duration.ofSeconds(Integer.getInteger("rdmashuffle.fleet.readTimeoutSeconds", 1500));
    private static final int BYTES = 1024;
    private static final int MAPPINGS_OF_CONNECTION = 3;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<Node> nodes = new ArrayList<>();
    private final List<Lease> data = new ArrayList<>();
    private final List<List<Peer>> peers = new ArrayList<>();

    @BeforeEach
    void open() throws Exception {
        TestVerbs.open(TestVerbs.settings(1 << 20)).close();
        // Lines, not a string: the kernel gives all of it to the first read of a byte or more, and then no more.
        long mappings = Long.parseLong(
                Files.readAllLines(Path.of("/proc/sys/vm/max_map_count")).get(0).strip());
        assertThat(mappings)
                .as("vm.max_map_count, for %d endpoints", ENDPOINTS)
                .isGreaterThan((long) MAPPINGS_OF_CONNECTION * ENDPOINTS * ENDPOINTS);
        for (int i = 0; i < ENDPOINTS; i++) {
            Node node = new Node(directory, TestVerbs.open(TestVerbs.settings(CONNECT_TIMEOUT, Duration.ZERO)));
            nodes.add(node);
            data.add(TestPools.filled(node.pool(), BYTES, new Random(i)));
        }
        for (int i = 0; i < ENDPOINTS; i++) {
            List<Peer> others = new ArrayList<>();
            for (int j = 0; j < ENDPOINTS; j++) {
                others.add(nodes.get(i)
                        .fabric()
                        .connect("endpoint-" + j, nodes.get(j).fabric().localAddress()));
            }
            peers.add(others);
        }
    }

    @AfterEach
    void close() throws InterruptedException {
        peers.forEach(others -> others.forEach(Peer::close));
        // A fabric that closes waits for its threads for 10 s only, which all others may keep busy with their
        // farewells.
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
        while (ResourceLedger.open().getOrDefault("CmId", 0L) > nodes.size() && System.nanoTime() - deadline < 0) {
            Thread.sleep(20);
        }
        data.forEach(Lease::close);
        nodes.forEach(Node::close);
    }

    @Test
    void allConnectToAllAtOnce() throws Exception {
        Round connecting = new Round();
        connecting.run();
        System.out.println("connecting: " + connecting);
        Round connected = new Round();
        connected.run();
        System.out.println("connected:  " + connected);
        assertThat(connecting.failures()).isEmpty();
        assertThat(connected.failures()).isEmpty();
    }

    /** Every endpoint reads once from every other. */
    private final class Round {
        private final int reads = ENDPOINTS * (ENDPOINTS - 1);
        private final CountDownLatch left = new CountDownLatch(reads);
        private final long[] endNanos = new long[reads];
        private final Map<String, Integer> failures = new TreeMap<>();
        private int ended;
        private long beginNanos;

        void run() throws InterruptedException {
            beginNanos = System.nanoTime();
            for (int distance = 1; distance < ENDPOINTS; distance++) {
                for (int reader = 0; reader < ENDPOINTS; reader++) {
                    begin(reader, (reader + distance) % ENDPOINTS);
                }
            }
            assertThat(left.await(2 * READ_TIMEOUT.toSeconds(), TimeUnit.SECONDS))
                    .as("%d reads have not ended", left.getCount())
                    .isTrue();
        }

        private void begin(int reader, int owner) throws InterruptedException {
            Lease source = data.get(owner);
            Lease target = TestPools.reserve(nodes.get(reader).pool(), Purpose.RECEIVE, BYTES);
            ReadRequest request = new ReadRequest(
                    List.of(new RemoteSlice(source.region().id(), source.offset(), BYTES)),
                    target,
                    System.nanoTime() + READ_TIMEOUT.toNanos(),
                    new Outcome(owner));
            assertThat(peers.get(reader).get(owner).read(request)).isTrue();
        }

        private void ended(String failure) {
            synchronized (this) {
                endNanos[ended++] = System.nanoTime() - beginNanos;
                if (!failure.isEmpty()) {
                    failures.merge(failure, 1, Integer::sum);
                }
            }
            left.countDown();
        }

        synchronized Map<String, Integer> failures() {
            return Map.copyOf(failures);
        }

        @Override
        public synchronized String toString() {
            long[] sorted = Arrays.copyOf(endNanos, ended);
            return "%d endpoints, %d reads: half after %.1f s, all after %.1f s, failures %s"
                    .formatted(ENDPOINTS, ended, sorted[ended / 2] / 1e9, sorted[ended - 1] / 1e9, failures);
        }

        /** Handles the end of a read of one owner's bytes. */
        private final class Outcome implements ReadRequest.Listener {
            private final int owner;

            Outcome(int owner) {
                this.owner = owner;
            }

            @Override
            public void succeeded(ReadRequest request) {
                byte[] expected = new byte[BYTES];
                new Random(owner).nextBytes(expected);
                boolean right;
                try (Lease target = request.target()) {
                    right = Arrays.equals(expected, TestPools.bytes(target.memory()));
                }
                ended(right ? "" : "wrong bytes");
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException failure) {
                ended(failure.reason().name());
            }
        }
    }
}
