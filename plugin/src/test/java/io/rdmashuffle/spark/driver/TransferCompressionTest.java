// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.fabric.tcp.TcpSettings;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.spark.metrics.CounterValues;
import io.rdmashuffle.spark.rpc.PeerAddress;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
class TransferCompressionTest {
    @TempDir(factory = ShmTempDirs.class)
    Path shared;

    @TempDir
    Path elsewhere;

    /**
     * Mb/s for four cores, at 200 a core. A gigabyte then takes 40 s of a task's time, a codec that saves half of it
     * saves 20 s, and takes 15 s at 15 ns a byte.
     */
    private static final long SLOW = 800;

    private static final long GIGABYTE = 1_000_000_000;

    private Node node;
    private Node apart;
    private final List<Member> members = new ArrayList<>();
    private final Map<String, String> hosts = new HashMap<>();
    private int cores = 4;
    private final TransferCompression compression = new TransferCompression(() -> members, () -> hosts, id -> cores);

    @BeforeEach
    void open() {
        node = new Node(shared, new ShmFabric(1, 1 << 20, true));
        apart = new Node(elsewhere, new ShmFabric(1, 1 << 20, true));
    }

    @AfterEach
    void close() {
        node.close();
        apart.close();
    }

    private static Map<String, byte[]> addresses(Node of) {
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put(ShmFabric.NAME, of.fabric().localAddress());
        addresses.put(PeerAddress.NAME, new PeerAddress("host", 1).encode());
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, new byte[] {1});
        return addresses;
    }

    private void announce(String executorId, String host, Map<String, byte[]> addresses) {
        hosts.put(executorId, host);
        members.add(new Member(executorId, UUID.randomUUID(), addresses));
    }

    private void announceRdma(String executorId, String host, Node of) {
        Map<String, byte[]> addresses = addresses(of);
        addresses.put("verbs", new byte[] {1});
        announce(executorId, host, addresses);
    }

    @Test
    void sharedMemoryReachesAllOfOneHost() {
        announce("0", "a", addresses(node));
        announce("1", "a", addresses(node));
        assertThat(compression.decide(7)).isFalse();
    }

    @Test
    void memoryThatIsNotSharedReachesNoOne() {
        announce("0", "a", addresses(node));
        announce("1", "a", addresses(apart));
        assertThat(compression.decide(7)).isTrue();
    }

    @Test
    void anAddressThatCannotBeReadReachesNoOne() {
        for (String executorId : List.of("0", "1")) {
            Map<String, byte[]> addresses = addresses(node);
            addresses.put(ShmFabric.NAME, new byte[] {1, 2, 3});
            announce(executorId, "a", addresses);
        }
        assertThat(compression.decide(7)).isTrue();
    }

    @Test
    void rdmaReachesOtherHosts() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        assertThat(compression.decide(7)).isFalse();
    }

    @Test
    void oneExecutorWithoutRdmaAmongTenDoesNotDecide() {
        for (int i = 0; i < 9; i++) {
            announceRdma("rdma " + i, "host " + i, node);
        }
        announce("without", "c", addresses(apart));
        assertThat(compression.decide(7)).isFalse();
    }

    @Test
    void twoHostsOfFourExecutorsReachFewerThanHalf() {
        for (int i = 0; i < 4; i++) {
            announce("a" + i, "a", addresses(node));
            announce("b" + i, "b", addresses(apart));
        }
        // 12 of 28 pairs.
        assertThat(compression.decide(7)).isTrue();
    }

    /** Their reads may be slow because they are few, or because their owners have no processor left. */
    @Test
    void tasksThatDoNotWaitNeedNoFasterNetwork() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", reads(SLOW));
        assertThat(compression.decide(7)).isFalse();
        compression.taskEnded(29_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(8)).isFalse();
        compression.taskEnded(2_000, 2_000, 0, 0);
        assertThat(compression.decide(9)).isTrue();
    }

    /** Half of the blocks are read in place. */
    @Test
    void theCodecTakesItsTimeForAllBlocks() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", reads(SLOW));
        compression.taskEnded(50_000, 50_000, GIGABYTE, 2 * GIGABYTE);
        assertThat(compression.decide(7)).isFalse();
    }

    @Test
    void rowsThatDoNotCompressStayBare() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", counters(SLOW, 1_000, 700, 15_000));
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isFalse();
        compression.reported("0", counters(SLOW, 2_000, 1_200, 30_000));
        assertThat(compression.decide(8)).isTrue();
    }

    @Test
    void aCodecThatTakesLongerThanTheNetworkIsNotUsed() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", counters(SLOW, 1_000, 500, 21_000));
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isFalse();
        compression.reported("0", counters(SLOW, 2_000, 1_000, 38_000));
        assertThat(compression.decide(8)).isTrue();
    }

    @Test
    void withoutASampleRowsStayBare() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", CounterValues.ofNames(Map.of(ShuffleCounter.READ_MEGABITS.name(), SLOW)));
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isFalse();
    }

    /** Compressed blocks let tasks wait less on a network that is as slow as before. */
    @Test
    void onlyAFasterNetworkEndsCompression() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", reads(SLOW));
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isTrue();
        compression.taskEnded(0, 500_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(8)).isTrue();
        compression.reported("0", reads(2 * SLOW));
        assertThat(compression.decide(9)).isFalse();
        compression.reported("0", reads(SLOW));
        assertThat(compression.decide(10)).isFalse();
    }

    /** As after a pause, or when all executors were replaced. */
    @Test
    void withoutFiguresTheLastComparisonHolds() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", reads(SLOW));
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isTrue();
        compression.reported("0", reads(0));
        assertThat(compression.decide(8)).isTrue();
        compression.executorRemoved("0");
        Member other = members.remove(1);
        hosts.remove("1");
        assertThat(compression.decide(9)).as("alone").isFalse();
        members.add(other);
        hosts.put("1", "b");
        assertThat(compression.decide(10)).isTrue();
        compression.reported("1", CounterValues.ofNames(Map.of(ShuffleCounter.READ_MEGABITS.name(), 2 * SLOW)));
        assertThat(compression.decide(11)).isFalse();
    }

    @Test
    void aNetworkThatIsMeasuredToBeSlowIsSpared() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        assertThat(compression.decide(7)).isFalse();
        compression.reported("0", reads(0));
        assertThat(compression.decide(8)).isFalse();
        compression.reported("0", reads(SLOW));
        assertThat(compression.decide(9)).isTrue();
        assertThat(compression.decide(7)).isFalse();
        compression.reported("1", reads(3 * SLOW));
        assertThat(compression.decide(10)).isFalse();
        compression.executorRemoved("1");
        assertThat(compression.decide(11)).isTrue();
    }

    private static CounterValues reads(long megabits) {
        return counters(megabits, 1_000, 500, 15_000);
    }

    private static CounterValues counters(long megabits, long sampledBytes, long compressedBytes, long nanos) {
        return CounterValues.ofNames(Map.of(
                ShuffleCounter.READ_MEGABITS.name(), megabits,
                ShuffleCounter.SAMPLED_BYTES.name(), sampledBytes,
                ShuffleCounter.SAMPLED_COMPRESSED_BYTES.name(), compressedBytes,
                ShuffleCounter.SAMPLED_NANOS.name(), nanos));
    }

    /** As behind a firewall that lets no one read over TCP. */
    @Test
    void executorsThatReadOverNettyAllTheSameReachNoOne() {
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", CounterValues.ofNames(Map.of(ShuffleCounter.NETTY_BYTES.name(), 100L << 20)));
        assertThat(compression.decide(7)).isTrue();
        compression.reported(
                "0",
                CounterValues.ofNames(Map.of(
                        ShuffleCounter.NETTY_BYTES.name(), 100L << 20, ShuffleCounter.TCP_BYTES.name(), 90L << 20)));
        assertThat(compression.decide(8)).isFalse();
    }

    @Test
    void anExecutorThatDoesNotListenReachesNoOne() {
        for (String executorId : List.of("0", "1")) {
            Map<String, byte[]> addresses = addresses(executorId.equals("0") ? node : apart);
            TcpFabric fabric = new TcpFabric(new TcpSettings(
                    () -> TcpSettings.Host.of("127.0.0.1"),
                    TcpSettings.Ports.ANY,
                    1,
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(1),
                    1 << 20,
                    Secret.NONE));
            fabric.close();
            addresses.put("tcp", fabric.localAddress());
            announce(executorId, executorId, addresses);
        }
        assertThat(compression.decide(7)).isTrue();
    }

    @Test
    void moreCoresNeedMoreOfTheNetwork() {
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        announceRdma("0", "a", node);
        announceRdma("1", "b", apart);
        compression.reported("0", reads(2 * SLOW));
        assertThat(compression.decide(7)).isFalse();
        cores = 16;
        assertThat(compression.decide(8)).isTrue();
    }

    /** 12 of 28 pairs share memory, so that less of a shuffle crosses the network. */
    @Test
    void sharedMemorySparesTheNetwork() {
        compression.taskEnded(50_000, 50_000, GIGABYTE, GIGABYTE);
        for (int i = 0; i < 4; i++) {
            announceRdma("a" + i, "a", node);
            announceRdma("b" + i, "b", apart);
        }
        compression.reported("a0", reads(SLOW));
        assertThat(compression.decide(7)).isFalse();
        compression.reported("a0", reads(SLOW / 2));
        assertThat(compression.decide(8)).isTrue();
    }

    @Test
    void executorsThatAreStillSilentAreLikeTheOthers() {
        announce("0", "a", addresses(node));
        hosts.put("1", "a");
        assertThat(compression.decide(7)).isFalse();
        hosts.put("2", "b");
        hosts.put("3", "c");
        assertThat(compression.decide(8)).isTrue();
        announceRdma("4", "d", apart);
        assertThat(compression.decide(9)).isFalse();
    }

    @Test
    void aDecisionHoldsUntilTheShuffleIsGone() {
        announce("0", "a", addresses(node));
        assertThat(compression.decide(7)).isFalse();
        announce("1", "b", addresses(apart));
        assertThat(compression.decide(7)).isFalse();
        assertThat(compression.decide(8)).isTrue();
        compression.forget(7);
        assertThat(compression.decide(7)).isTrue();
    }

    /** Its handle says so, and most shuffles that adaptive execution registers never run. */
    @Test
    void decisionsAtRegistrationAreNotKept() {
        announce("0", "a", addresses(node));
        assertThat(compression.atRegistration(7)).isEqualTo(NetworkCompression.OFF);
        announce("1", "b", addresses(apart));
        assertThat(compression.atRegistration(7)).isEqualTo(NetworkCompression.ON);
    }

    @Test
    void beforeAnyExecutorIsKnownWritersAsk() {
        assertThat(compression.atRegistration(7)).isEqualTo(NetworkCompression.ASK_DRIVER);
        announce("0", "a", addresses(node));
        hosts.put("1", "b");
        assertThat(compression.decide(7)).isTrue();
        assertThat(compression.atRegistration(8)).isEqualTo(NetworkCompression.ON);
    }
}
