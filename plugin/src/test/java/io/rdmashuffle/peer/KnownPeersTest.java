// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
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

/** Tests of the cache of peers, and of its lifetime. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class KnownPeersTest {
    private static final int SHUFFLE = 3;
    private static final int OTHER = 4;
    private static final int PARTITIONS = 5;

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    /** What peers were told, reads and looks apart. */
    private final List<String> told = new ArrayList<>();

    private final Map<String, byte[]> addresses = new HashMap<>();
    private Node owner;
    private Node reader;
    private MapOutputStore store;
    private PeerPaths paths;
    private int lookups;

    @BeforeEach
    void open() throws Exception {
        Random random = new Random(3);
        owner = new Node(path, new ShmFabric(1, 1 << 20, false));
        reader = new Node(path, new ShmFabric(1, 1 << 20, false));
        MapOutputDirectory directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        store = new MapOutputStore(directory, new ShuffleCounters());
        for (int shuffle : List.of(SHUFFLE, OTHER)) {
            TestOutput output = TestOutput.random(owner.pool(), shuffle, PARTITIONS, 900, random);
            store.add(shuffle, store.epoch(shuffle), output.output());
        }
        addresses.put("shm", owner.fabric().localAddress());
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
        paths = paths(List.of(watched(reader.fabric(), "shm")));
    }

    @AfterEach
    void close() {
        paths.close();
        store.close();
        reader.close();
        owner.close();
    }

    private PeerPaths paths(List<Fabric> fabrics) {
        return new PeerPaths(
                fabrics,
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(10)),
                id -> {
                    lookups++;
                    return Optional.of(new Member(id, UUID.randomUUID(), addresses));
                },
                Duration.ofHours(1));
    }

    /** Renames a fabric and records calls of its peers. */
    private Fabric watched(Fabric fabric, String name) {
        return (Fabric) proxy(Fabric.class, (method, arguments) -> {
            Object answer = method.equals("name") ? name : invoke(Fabric.class, fabric, method, arguments);
            return answer instanceof Peer peer ? watched(peer) : answer;
        });
    }

    private Peer watched(Peer peer) {
        return (Peer) proxy(Peer.class, (method, arguments) -> {
            if (method.startsWith("release") || method.equals("close")) {
                told.add(method);
            }
            return invoke(Peer.class, peer, method, arguments);
        });
    }

    /** A call by the method's name. */
    @FunctionalInterface
    private interface Calls {
        Object answer(String method, Object[] arguments) throws Throwable;
    }

    private static Object proxy(Class<?> type, Calls calls) {
        return Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (self, method, arguments) -> calls.answer(method.getName(), arguments));
    }

    private static Object invoke(Class<?> type, Object target, String name, Object[] arguments) throws Throwable {
        for (var method : type.getMethods()) {
            if (method.getName().equals(name)) {
                try {
                    return method.invoke(target, arguments);
                } catch (InvocationTargetException e) {
                    throw Objects.requireNonNull(e.getCause());
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    /** Reads an entry and its index. */
    private void read(PeerPath found, int shuffle) throws IOException {
        DirectoryEntry entry = Objects.requireNonNull(found.directory().find(shuffle, shuffle));
        found.directory().ranges(List.of(new WantedRange(shuffle, entry, 0, PARTITIONS)));
    }

    @Test
    void onlyWhatWasFoundIsKnown() {
        assertThat(paths.known("7")).isNull();
        assertThat(paths.known()).isEmpty();
        PeerPath found = paths.to("7");
        assertThat(found).isNotNull();
        assertThat(paths.known("7")).isSameAs(found);
        assertThat(paths.known("8")).isNull();
        assertThat(paths.to("7")).isSameAs(found);
        assertThat(lookups).isOne();
    }

    @Test
    void regionsAreLetGoOfWithTheLastShuffleThatIsReadThere() throws Exception {
        PeerPath found = Objects.requireNonNull(paths.to("7"));
        assertThat(paths.openRegions()).isZero();
        read(found, SHUFFLE);
        read(found, OTHER);
        assertThat(paths.shuffleIds()).containsExactlyInAnyOrder(SHUFFLE, OTHER);
        assertThat(paths.openRegions()).isPositive().isEqualTo(found.peer().openRegions());
        assertThat(paths.indexReads()).as("of two indexes").isGreaterThanOrEqualTo(2);

        paths.forgetShuffle(SHUFFLE);
        assertThat(paths.shuffleIds()).containsExactly(OTHER);
        assertThat(told).as("the other shuffle is still read there").isEmpty();
        paths.forgetShuffle(OTHER);
        assertThat(paths.shuffleIds()).isEmpty();
        assertThat(told).containsExactly("releaseRegions");
        assertThat(paths.openRegions()).isZero();
    }

    @Test
    void peersAreToldWhenTheyMayHaveGivenRegionsBack() {
        assertThat(paths.to("7")).isNotNull();
        assertThat(paths.to("8")).isNotNull();
        paths.releaseAbsentRegions();
        assertThat(told).containsExactly("releaseAbsentRegions", "releaseAbsentRegions");
    }

    @Test
    void ofAPathThatFailedNothingIsKept() throws Exception {
        PeerPath found = Objects.requireNonNull(paths.to("7"));
        read(found, SHUFFLE);
        paths.failed(found, new ReadFailedException(Reason.PEER_GONE, "lost"));
        assertThat(told).containsExactly("close");
        assertThat(found.directory().shuffleIds()).isEmpty();
        assertThat(paths.shuffleIds()).isEmpty();
        assertThat(paths.openRegions()).isZero();
        paths.forgetShuffle(SHUFFLE);
        paths.releaseAbsentRegions();
        assertThat(told).as("no member is left to tell").containsExactly("close");
    }

    @Test
    void closingEndsThemAllAndNoOtherIsMade() throws Exception {
        PeerPath found = Objects.requireNonNull(paths.to("7"));
        read(found, SHUFFLE);
        paths.close();
        assertThat(told).containsExactly("close");
        assertThat(paths.known()).isEmpty();
        assertThat(paths.to("7")).isNull();
        assertThat(paths.to("8")).isNull();
        assertThat(lookups).isOne();
    }

    @Test
    void theFirstFabricThatLeadsThereIsTaken() {
        Fabric broken = (Fabric) proxy(Fabric.class, (method, arguments) -> {
            if (method.equals("name")) {
                return "verbs";
            }
            throw new PeerUnreachableException("no route to it");
        });
        addresses.put("verbs", new byte[] {1});
        try (PeerPaths several =
                paths(List.of(watched(reader.fabric(), "tcp"), broken, watched(reader.fabric(), "shm")))) {
            PeerPath found = Objects.requireNonNull(several.to("7"));
            assertThat(found.counter()).isEqualTo(ShuffleCounter.SHM_BYTES);
        }
    }

    @Test
    void unreachablePeerIsNotRetried() {
        addresses.remove(PeerPaths.DIRECTORY_ADDRESS);
        assertThat(paths.to("7")).isNull();
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, new byte[] {1, 2, 3});
        assertThat(paths.to("7")).isNull();
        assertThat(lookups).isOne();
        assertThat(paths.to("8")).as("its directory's address is damaged").isNull();
        assertThat(lookups).isEqualTo(2);
        assertThat(told).as("no peer is left open").isEmpty();
    }

    @Test
    void onlyAPathThatMayExistIsToBeFound() {
        assertThat(paths.isToBeFound("7")).isTrue();
        assertThat(paths.to("7")).isNotNull();
        assertThat(paths.isToBeFound("7")).as("known").isFalse();
        byte[] directory = Objects.requireNonNull(addresses.remove(PeerPaths.DIRECTORY_ADDRESS));
        assertThat(paths.to("8")).isNull();
        assertThat(paths.isToBeFound("8")).as("no fabric reaches it").isFalse();
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory);
        paths.changed(null, new Member("8", UUID.randomUUID(), addresses));
        assertThat(paths.isToBeFound("8")).as("it has announced itself").isTrue();
        assertThat(paths.to("8")).isNotNull();
        paths.close();
        assertThat(paths.isToBeFound("9")).isFalse();
    }

    @Test
    void fewPeersAreAskedEarlyOncePerShuffle() {
        assertThat(paths.takeEarly(OTHER)).as("no peer yet").isEmpty();
        PeerPath found = paths.to("7");
        assertThat(paths.takeEarly(SHUFFLE)).containsExactly(found);
        assertThat(paths.takeEarly(SHUFFLE)).isEmpty();
        assertThat(paths.shuffleIds())
                .as("so that it is forgotten with the shuffle")
                .contains(SHUFFLE);
        paths.forgetShuffle(SHUFFLE);
        for (int peer = 1; peer < 64; peer++) {
            assertThat(paths.to("peer " + peer)).isNotNull();
        }
        assertThat(paths.takeEarly(SHUFFLE)).hasSize(64);
        assertThat(paths.to("peer 64")).isNotNull();
        assertThat(paths.takeEarly(SHUFFLE + 9)).isEmpty();
    }
}
