// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Many peers, and what a connection costs that nothing is read over. */
@Tag("fault")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class TcpFleetTest {
    private static final int PEERS = 1000;
    /** Each of them reads from all: N * N connections, whose two ends are files of this process. */
    private static final int NODES = Integer.getInteger("rdmashuffle.fleet.endpoints", 32);

    private static final long MAX_IDLE_BYTES = 64 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<Peer> peers = Collections.synchronizedList(new ArrayList<>());
    private ReadFixture fixture;

    @BeforeEach
    void open() {
        fixture = new ReadFixture(directory);
    }

    @AfterEach
    void close() {
        peers.forEach(Peer::close);
        fixture.close();
    }

    private Node node() {
        return fixture.node(TestTcp.fabric(8 << 20));
    }

    private Peer connect(Node reader, Node owner) throws Exception {
        Peer peer = reader.connect(owner);
        peers.add(peer);
        return peer;
    }

    /** Both ends of each connection are in this process. */
    private static void assumeFiles(int connections) {
        UnixOperatingSystemMXBean system = (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long free = system.getMaxFileDescriptorCount() - system.getOpenFileDescriptorCount();
        assumeTrue(free > 2L * connections + 500, "a limit of open files (ulimit -n) that allows it");
    }

    @Test
    void aThousandPeersTakeOneThreadAndLittleMemory() throws Exception {
        assumeFiles(PEERS);
        Node owner = node();
        Node reader = node();
        Lease lease = fixture.data(owner);
        long before = TestTcp.directBytes();
        for (int i = 0; i < PEERS; i++) {
            assertReadable(reader, connect(reader, owner), lease);
        }
        assertThat(reader.fabric().load().connections()).isEqualTo(PEERS);
        assertThat(TestTcp.directBytes() - before).isLessThan(PEERS * MAX_IDLE_BYTES);

        long wakeUps = reader.fabric().work().wakeUps();
        long begun = System.nanoTime();
        Thread.sleep(1500);
        double seconds = (System.nanoTime() - begun) / (double) TimeUnit.SECONDS.toNanos(1);
        assertThat(reader.fabric().work().wakeUps() - wakeUps)
                .as("in %s s without a read", seconds)
                .isLessThanOrEqualTo((long) Math.ceil(10 * seconds));
    }

    @Test
    void allReadFromAllAtOnce() throws Exception {
        assumeFiles(NODES * NODES);
        List<Node> nodes = new ArrayList<>();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < NODES; i++) {
            nodes.add(node());
            leases.add(fixture.data(nodes.get(i)));
        }
        ExecutorService readers = Executors.newFixedThreadPool(NODES);
        try {
            List<Future<?>> reading = new ArrayList<>();
            for (Node reader : nodes) {
                reading.add(readers.submit(() -> {
                    for (int owner = 0; owner < NODES; owner++) {
                        assertReadable(reader, connect(reader, nodes.get(owner)), leases.get(owner));
                    }
                    return null;
                }));
            }
            for (Future<?> each : reading) {
                each.get(90, TimeUnit.SECONDS);
            }
        } finally {
            readers.shutdownNow();
        }
        assertThat(nodes).allSatisfy(node -> {
            assertThat(node.fabric().load().connections()).isEqualTo(NODES);
            assertThat(node.fabric().load().connectionsLost()).isZero();
        });
    }
}
