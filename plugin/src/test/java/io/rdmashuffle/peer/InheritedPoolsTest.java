// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.fabric.tcp.TcpSettings;
import io.rdmashuffle.fabric.tcp.TcpSettings.Host;
import io.rdmashuffle.fabric.tcp.TcpSettings.Ports;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.peer.InheritedPools.Inherited;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A pool of a process that does not serve it any more, which another process of its host serves. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class InheritedPoolsTest {
    private static final int SHUFFLE = 3;
    private static final int PARTITIONS = 6;
    private static final long MAP = 12;

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final ShmFabric shared = new ShmFabric(1, 1 << 20, true);
    private Node owner;
    private MapOutputStore store;
    private TestOutput output;
    private Node heir;
    private Node reader;
    private InheritedPools pools;
    private Member ended;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, true));
        MapOutputDirectory directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        store = new MapOutputStore(directory, new ShuffleCounters());
        output = TestOutput.random(owner.pool(), MAP, PARTITIONS, 15_000, new Random(7));
        store.add(SHUFFLE, 0, output.output());
        heir = new Node(path, tcp());
        reader = new Node(path, tcp());
        List<Fabric> fabrics = List.of(shared, heir.fabric());
        pools = new InheritedPools("5", fabrics, reads(heir));
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put("shm", owner.fabric().localAddress());
        addresses.put("tcp", goneTcp());
        addresses.put("verbs", new byte[] {1});
        addresses.put("spark", "1:gone".getBytes(StandardCharsets.UTF_8));
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
        ended = new Member("3", UUID.randomUUID(), addresses);
    }

    @AfterEach
    void close() {
        pools.close();
        shared.close();
        reader.close();
        heir.close();
        store.close();
        owner.close();
    }

    private static TcpFabric tcp() {
        return new TcpFabric(new TcpSettings(
                () -> Host.of("127.0.0.1"),
                Ports.ANY,
                1,
                Duration.ofSeconds(30),
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                1 << 20,
                Secret.NONE));
    }

    /** Returns an address with a closed port. */
    private static byte[] goneTcp() {
        TcpFabric gone = tcp();
        byte[] address = gone.localAddress();
        gone.close();
        return address;
    }

    private static BlockingReads reads(Node node) {
        return new BlockingReads(new ReceiveLeases(node.pool(), Duration.ZERO), Duration.ofSeconds(10));
    }

    private PeerPaths pathsTo(Member member) {
        return new PeerPaths(
                List.of(reader.fabric()), reads(reader), executorId -> Optional.of(member), Duration.ofHours(1));
    }

    private byte[] readOverTcp(PeerPath from, int start, int end) throws IOException {
        DirectoryEntry entry = Objects.requireNonNull(from.directory().find(SHUFFLE, MAP));
        BlockRange range = Objects.requireNonNull(from.directory().range(new WantedRange(SHUFFLE, entry, start, end)));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (RemoteBytes bytes = reads(reader).read(from.peer(), range.slices())) {
            for (int i = 0; i < range.slices().size(); i++) {
                byte[] piece = new byte[(int) range.slices().get(i).lengthBytes()];
                bytes.memory(i).getBytes(0, piece, 0, piece.length);
                all.writeBytes(piece);
            }
        }
        return all.toByteArray();
    }

    @Test
    void otherHostsReadItOverTcpFromTheHeir() throws Exception {
        Member served = pools.inherit(ended);
        assertThat(served.heir()).contains("5");
        assertThat(served.addresses()).containsOnlyKeys("shm", "tcp", PeerPaths.DIRECTORY_ADDRESS, Member.HEIR);
        assertThat(pools.inherit(ended)).isEqualTo(served);
        try (PeerPaths paths = pathsTo(served)) {
            PeerPath found = Objects.requireNonNull(paths.to("3"));
            assertThat(readOverTcp(found, 0, PARTITIONS)).isEqualTo(output.expected(0, PARTITIONS));

            pools.changed(served, null);
            assertThat(pools.count()).isZero();
            eventually().until(() -> isRefused(found));
        }
    }

    private boolean isRefused(PeerPath from) {
        try {
            return readOverTcp(from, 0, PARTITIONS).length == 0;
        } catch (IOException e) {
            return true;
        }
    }

    @Test
    void blocksAreFoundForSparksBlockTransfer() throws Exception {
        Member served = pools.inherit(ended);
        Inherited found = pools.find(SHUFFLE, MAP, 1, 4).orElseThrow();
        StoredRange range = found.range();
        assertThat(range.isIntact()).isTrue();
        assertThat(TestOutput.join(range.pieces())).isEqualTo(output.expected(1, 4));
        assertThat(pools.find(SHUFFLE, MAP + 1, 1, 4)).isEmpty();
        assertThat(pools.find(SHUFFLE + 1, MAP, 1, 4)).isEmpty();

        pools.changed(served, null);
        assertThat(TestOutput.join(range.pieces())).as("while it is being sent").isEqualTo(output.expected(1, 4));
        found.pool().release();
        assertThat(pools.find(SHUFFLE, MAP, 1, 4)).isEmpty();
    }

    @Test
    void anotherHeirEndsTheService() throws Exception {
        Member served = pools.inherit(ended);
        pools.changed(ended, served);
        assertThat(pools.count()).isOne();
        Map<String, byte[]> addresses = new HashMap<>(served.addresses());
        addresses.put(Member.HEIR, new byte[] {'6'});
        pools.changed(served, new Member("3", served.incarnation(), addresses));
        assertThat(pools.count()).isZero();
    }

    @Test
    void whatCannotBeOpenedIsRefused() {
        Member elsewhere = new Member("3", UUID.randomUUID(), Map.of("tcp", goneTcp()));
        assertThatThrownBy(() -> pools.inherit(elsewhere))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("no fabric opens");
        pools.close();
        assertThatThrownBy(() -> pools.inherit(ended)).isInstanceOf(PeerUnreachableException.class);
    }
}
