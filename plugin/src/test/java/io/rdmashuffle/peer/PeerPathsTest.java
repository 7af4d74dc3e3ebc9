// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberLookup;
import io.rdmashuffle.store.ShuffleCounter;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Ways to peers that fail. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class PeerPathsTest {
    private static final Duration PAUSE = Duration.ofMillis(100);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final List<String> asked = new ArrayList<>();
    private Node owner;
    private Node reader;
    private MapOutputDirectory directory;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, false));
        reader = new Node(path, new ShmFabric(1, 1 << 20, false));
        directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
    }

    @AfterEach
    void close() {
        directory.close();
        reader.close();
        owner.close();
    }

    private PeerPaths paths(Duration quarantine) {
        Map<String, byte[]> addresses = Map.of(
                "shm",
                owner.fabric().localAddress(),
                PeerPaths.DIRECTORY_ADDRESS,
                directory.location().encode());
        Member member = new Member("7", UUID.randomUUID(), addresses);
        return new PeerPaths(
                List.of(reader.fabric()),
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                new MemberLookup() {
                    @Override
                    public Optional<Member> lookup(String executorId) {
                        asked.add("lookup " + executorId);
                        return Optional.of(member);
                    }

                    @Override
                    public void recheck(String executorId) {
                        asked.add("recheck " + executorId);
                    }
                },
                quarantine);
    }

    @Test
    void aPathThatFailedIsNotUsedForAWhile() {
        try (PeerPaths paths = paths(Duration.ofHours(1))) {
            PeerPath found = Objects.requireNonNull(paths.to("7"));
            assertThat(paths.known()).containsExactly(found);
            assertThat(paths.executorsByFabric()).isEqualTo(Map.of("shm", List.of("7")));
            paths.failed(found, new ReadFailedException(Reason.PEER_GONE, "lost"));
            assertThat(paths.quarantined()).containsExactly("7");
            assertThat(paths.quarantines()).isEqualTo(1);
            assertThat(paths.executorsByFabric()).isEqualTo(Map.of(PeerPaths.NO_FABRIC, List.of("7")));
            assertThat(paths.to("7")).isNull();
            assertThat(paths.known("7")).isNull();
            assertThat(paths.known()).isEmpty();
        }
    }

    /** A member may have come back under another address, of which no update has told yet. */
    @Test
    void afterAFailureTheRegistryIsAskedAnew() {
        try (PeerPaths paths = paths(Duration.ZERO)) {
            PeerPath found = Objects.requireNonNull(paths.to("7"));
            paths.failed(found, new ReadFailedException(Reason.PEER_GONE, "lost"));
            assertThat(asked).containsExactly("lookup 7", "recheck 7");
            paths.failed(found, new ReadFailedException(Reason.PEER_GONE, "told again by another read"));
            assertThat(paths.to("7")).isNotNull().isNotEqualTo(found);
            assertThat(asked).containsExactly("lookup 7", "recheck 7", "lookup 7");
        }
    }

    /** Returns the reader's fabric under another name. */
    private Fabric ofi() {
        return (Fabric) Proxy.newProxyInstance(
                Fabric.class.getClassLoader(),
                new Class<?>[] {Fabric.class},
                (self, method, arguments) ->
                        method.getName().equals("name") ? "ofi" : method.invoke(reader.fabric(), arguments));
    }

    private PeerPaths pathsOfTwoFabrics(Duration quarantine) {
        return pathsOf(List.of(reader.fabric(), ofi()), quarantine, System::nanoTime);
    }

    private PeerPaths pathsOf(List<Fabric> fabrics, Duration quarantine, LongSupplier nanoTime) {
        Map<String, byte[]> addresses = Map.of(
                "shm",
                owner.fabric().localAddress(),
                "ofi",
                owner.fabric().localAddress(),
                PeerPaths.DIRECTORY_ADDRESS,
                directory.location().encode());
        Member member = new Member("7", UUID.randomUUID(), addresses);
        return new PeerPaths(
                fabrics,
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                executorId -> Optional.of(member),
                quarantine,
                RemoteDirectory.RETRY_TIMEOUT,
                nanoTime);
    }

    /** Returns the reader's fabric, which does not connect while a flag is set. */
    private Fabric unlessDown(AtomicBoolean isDown) {
        return (Fabric) Proxy.newProxyInstance(
                Fabric.class.getClassLoader(), new Class<?>[] {Fabric.class}, (self, method, arguments) -> {
                    if (method.getName().equals("connect")) {
                        asked.add("connect");
                        if (isDown.get()) {
                            throw new PeerUnreachableException("cannot resolve the name");
                        }
                    }
                    return method.invoke(reader.fabric(), arguments);
                });
    }

    /** As where a name server does not answer for a moment. */
    @Test
    void unreachablePeerIsRetriedWithBackOff() throws Exception {
        AtomicBoolean isDown = new AtomicBoolean(true);
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 7);
        try (PeerPaths paths = pathsOf(List.of(unlessDown(isDown)), Duration.ofSeconds(30), now::get)) {
            for (int seconds : new int[] {30, 60, 120, 240, 480, 600, 600}) {
                asked.clear();
                assertThat(paths.to("7")).isNull();
                assertThat(paths.executorsByFabric()).isEqualTo(Map.of(PeerPaths.NO_FABRIC, List.of("7")));
                now.addAndGet(TimeUnit.SECONDS.toNanos(seconds) - 1);
                assertThat(paths.to("7")).isNull();
                assertThat(asked).containsExactly("connect");
                now.incrementAndGet();
            }
            isDown.set(false);
            assertThat(paths.to("7")).isNotNull();
            assertThat(paths.executorsByFabric()).isEqualTo(Map.of("shm", List.of("7")));
        }
    }

    @Test
    void pausesAreShortAgainOnceAFabricHasServedForLong() throws Exception {
        ReadFailedException notYet = new ReadFailedException(Reason.NOT_CONNECTED, "no answer");
        AtomicLong now = new AtomicLong();
        Duration pause = Duration.ofSeconds(30);
        try (PeerPaths paths = pathsOf(List.of(reader.fabric(), ofi()), pause, now::get)) {
            for (int failure = 0; failure < 5; failure++) {
                paths.failed(Objects.requireNonNull(paths.to("7")), notYet);
                assertThat(Objects.requireNonNull(paths.to("7")).fabric()).isEqualTo("ofi");
                now.addAndGet(pause.toNanos() - 1);
                assertThat(Objects.requireNonNull(paths.to("7")).fabric()).isEqualTo("ofi");
                now.incrementAndGet();
                assertThat(Objects.requireNonNull(paths.to("7")).fabric()).isEqualTo("shm");
                now.addAndGet(TimeUnit.MINUTES.toNanos(10));
            }
        }
    }

    /** As behind a firewall that refuses connections in its name. */
    @Test
    void aMemberThatIsGoneAgainAndAgainIsTriedLessOften() throws Exception {
        AtomicLong now = new AtomicLong();
        try (PeerPaths paths = pathsOf(List.of(reader.fabric()), Duration.ofSeconds(30), now::get)) {
            for (int seconds : new int[] {30, 60, 120, 240, 480, 600, 600}) {
                paths.failed(
                        Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.PEER_GONE, "refused"));
                now.addAndGet(TimeUnit.SECONDS.toNanos(seconds) - 1);
                assertThat(paths.to("7")).isNull();
                now.incrementAndGet();
                assertThat(paths.to("7")).isNotNull();
            }
        }
    }

    @Test
    void pausesAreNeverShorterThanTheQuarantine() throws Exception {
        AtomicLong now = new AtomicLong();
        try (PeerPaths paths = pathsOf(List.of(reader.fabric()), Duration.ofHours(1), now::get)) {
            for (int i = 0; i < 2; i++) {
                paths.failed(Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.PEER_GONE, "lost"));
                now.addAndGet(TimeUnit.HOURS.toNanos(1) - 1);
                assertThat(paths.to("7")).isNull();
                now.incrementAndGet();
            }
        }
    }

    /** Its reads here must end within a second. */
    @Test
    void aMemberIsRevokedWhileATaskConnectsToIt() throws Exception {
        CountDownLatch connecting = new CountDownLatch(1);
        CountDownLatch revoked = new CountDownLatch(1);
        Fabric slow = (Fabric) Proxy.newProxyInstance(
                Fabric.class.getClassLoader(), new Class<?>[] {Fabric.class}, (self, method, arguments) -> {
                    if (method.getName().equals("connect")) {
                        connecting.countDown();
                        assertThat(revoked.await(20, TimeUnit.SECONDS)).isTrue();
                    } else if (method.getName().equals("revoke")) {
                        revoked.countDown();
                    }
                    return method.invoke(reader.fabric(), arguments);
                });
        Member member =
                new Member("7", UUID.randomUUID(), Map.of("shm", owner.fabric().localAddress()));
        try (PeerPaths paths = pathsOf(List.of(slow), Duration.ofHours(1), System::nanoTime)) {
            CompletableFuture<PeerPath> looking = CompletableFuture.supplyAsync(() -> paths.to("7"));
            assertThat(connecting.await(20, TimeUnit.SECONDS)).isTrue();
            paths.changed(member, null);
            assertThat(looking.get(20, TimeUnit.SECONDS)).isNotNull();
            assertThat(paths.known()).isEmpty();
        }
    }

    @Test
    void theNextFabricReplacesOneThatFailed() {
        try (PeerPaths paths = pathsOfTwoFabrics(Duration.ofHours(1))) {
            PeerPath best = Objects.requireNonNull(paths.to("7"));
            assertThat(best.fabric()).isEqualTo("shm");
            paths.failed(best, new ReadFailedException(Reason.TIMED_OUT, "lost"));
            PeerPath next = Objects.requireNonNull(paths.to("7"));
            assertThat(next.fabric()).isEqualTo("ofi");
            assertThat(paths.to("7")).isSameAs(next);
            assertThat(paths.quarantined()).containsExactly("7");
            paths.failed(next, new ReadFailedException(Reason.TIMED_OUT, "lost, too"));
            assertThat(paths.to("7")).isNull();
            assertThat(paths.quarantines()).isEqualTo(2);
        }
    }

    /** Such as RDMA where a firewall drops its datagrams, or whose device was taken away. */
    @Test
    void aFabricWithoutAConnectionGivesWayToTheNext() throws Exception {
        ReadFailedException notYet = new ReadFailedException(Reason.NOT_CONNECTED, "no answer");
        try (PeerPaths paths = pathsOfTwoFabrics(Duration.ofHours(1))) {
            paths.failed(Objects.requireNonNull(paths.to("7")), notYet);
            PeerPath next = Objects.requireNonNull(paths.to("7"));
            assertThat(next.fabric()).isEqualTo("ofi");
            // Nothing is after it that could do better than to try again.
            paths.failed(next, notYet);
            assertThat(paths.to("7")).isSameAs(next);
            assertThat(paths.quarantined()).isEmpty();
            assertThat(paths.quarantines()).isZero();
        }
    }

    /** Reads wait for each attempt, so that there are fewer and fewer. */
    @Test
    void aFabricThatNeverConnectsIsTriedLessOften() throws Exception {
        ReadFailedException notYet = new ReadFailedException(Reason.NOT_CONNECTED, "no answer");
        try (PeerPaths paths = pathsOfTwoFabrics(PAUSE)) {
            for (int attempt = 0; attempt < 2; attempt++) {
                long began = System.nanoTime();
                paths.failed(Objects.requireNonNull(paths.to("7")), notYet);
                await().until(() ->
                        Objects.requireNonNull(paths.to("7")).fabric().equals("shm"));
                assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(PAUSE.multipliedBy(attempt + 1));
            }
        }
    }

    /** Every task that looks for a path gets the same answer, whose length does not grow. */
    @Test
    void unreachablePeerIsNotRetriedAtOnce() throws Exception {
        try (PeerPaths paths = pathsOfTwoFabrics(Duration.ofHours(1))) {
            for (int i = 0; i < 2; i++) {
                paths.failed(Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.TIMED_OUT, "lost"));
            }
            assertThat(paths.to("7")).isNull();
            String reason = paths.probe("7").reason();
            for (int i = 0; i < 10; i++) {
                assertThat(paths.to("7")).isNull();
            }
            assertThat(paths.probe("7").reason()).isEqualTo(reason).contains("shm: given up", "ofi: given up");
        }
    }

    /** Tasks ask for a path that is known before they have one looked for. */
    @Test
    void aFabricComesBackBeforeOthers() {
        try (PeerPaths paths = pathsOfTwoFabrics(Duration.ofMillis(500))) {
            paths.failed(Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.TIMED_OUT, "lost"));
            PeerPath meanwhile = paths.to("7");
            assertThat(meanwhile).isNotNull();
            await().until(() -> {
                PeerPath known = paths.known("7");
                return Objects.requireNonNull(known == null ? paths.to("7") : known)
                        .fabric()
                        .equals("shm");
            });
            assertThat(paths.quarantined()).isEmpty();
        }
    }

    /** The interface of fabrics is open to others' classes, which bring names of their own. */
    @Test
    void bytesOfAnotherFabricCountAsVerbs() {
        Map<String, byte[]> addresses = Map.of(
                "ofi",
                owner.fabric().localAddress(),
                PeerPaths.DIRECTORY_ADDRESS,
                directory.location().encode());
        Member member = new Member("7", UUID.randomUUID(), addresses);
        try (PeerPaths paths = new PeerPaths(
                List.of(ofi()),
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                executorId -> Optional.of(member),
                Duration.ZERO)) {
            assertThat(Objects.requireNonNull(paths.to("7")).counter()).isEqualTo(ShuffleCounter.VERBS_BYTES);
        }
    }

    /** As one that reads metrics must not. */
    @Test
    void countingRegionsDoesNotWaitForTheDriver() throws Exception {
        CountDownLatch asking = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        MemberLookup slow = executorId -> {
            asking.countDown();
            try {
                assertThat(answer.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return Optional.empty();
        };
        try (PeerPaths paths = new PeerPaths(
                List.of(reader.fabric()),
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                slow,
                Duration.ZERO)) {
            CompletableFuture<PeerPath> looking = CompletableFuture.supplyAsync(() -> paths.to("7"));
            assertThat(asking.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(paths.openRegions()).isZero();
            assertThat(answer.getCount()).as("not answered yet").isOne();
            answer.countDown();
            assertThat(looking.get(20, TimeUnit.SECONDS)).isNull();
        }
    }

    @Test
    void aProbeSaysWhyABetterFabricIsNotUsed() throws Exception {
        try (PeerPaths paths = pathsOfTwoFabrics(Duration.ofHours(1))) {
            assertThat(paths.probe("7").passedOver()).isEmpty();
            paths.failed(Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.TIMED_OUT, "lost"));
            PathProbe probe = paths.probe("7");
            assertThat(probe.reason()).isEmpty();
            assertThat(probe.passedOver()).contains("shm: given up");
        }
    }

    @Test
    void aProbeReadsTheDirectoryOrSaysWhyItCannot() throws Exception {
        try (PeerPaths paths = paths(Duration.ofHours(1))) {
            PathProbe probe = paths.probe("7");
            assertThat(probe.fabric()).isEqualTo("shm");
            assertThat(probe.inPlace()).as("this fabric copies").isFalse();
            assertThat(probe.medianNanos()).isPositive();
            assertThat(probe.bytesPerSecond()).isPositive();
            assertThat(probe.reason()).isEmpty();
            paths.failed(Objects.requireNonNull(paths.to("7")), new ReadFailedException(Reason.PEER_GONE, "lost"));
            assertThat(paths.probe("7"))
                    .isEqualTo(PathProbe.none("7", "shm: given up after it failed: PEER_GONE: lost"))
                    .extracting(PathProbe::fabric)
                    .isEqualTo(PathProbe.NETTY);
        }
        try (PeerPaths none = new PeerPaths(
                List.of(),
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                executorId -> Optional.empty(),
                Duration.ZERO)) {
            assertThat(none.probe("7").reason()).isEqualTo("this executor has no one-sided fabric");
        }
    }

    private PeerPaths paths(MemberLookup members, LongSupplier nanoTime) {
        return new PeerPaths(
                List.of(reader.fabric()),
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(1)),
                members,
                PAUSE,
                RemoteDirectory.RETRY_TIMEOUT,
                nanoTime);
    }

    @Test
    void anExecutorThatTheDriverDoesNotKnowIsAskedForOnceASecond() {
        AtomicLong clock = new AtomicLong();
        MemberLookup nobody = executorId -> {
            asked.add(executorId);
            return Optional.empty();
        };
        try (PeerPaths paths = paths(nobody, clock::get)) {
            assertThat(paths.to("7")).isNull();
            assertThat(paths.isToBeFound("7")).isFalse();
            assertThat(paths.to("7")).isNull();
            assertThat(asked).hasSize(1);
            clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
            assertThat(paths.isToBeFound("7")).isTrue();
            assertThat(paths.to("7")).isNull();
            assertThat(asked).hasSize(2);
        }
    }

    /** Its reads here end within a second, whatever a task waits for. */
    @Test
    void aMemberThatLeavesDoesNotWaitForALookup() throws Exception {
        CountDownLatch isAsked = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        Member member = new Member(
                "7",
                UUID.randomUUID(),
                Map.of(
                        "shm",
                        owner.fabric().localAddress(),
                        PeerPaths.DIRECTORY_ADDRESS,
                        directory.location().encode()));
        MemberLookup slow = executorId -> {
            isAsked.countDown();
            try {
                answer.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return Optional.of(member);
        };
        try (PeerPaths paths = paths(slow, System::nanoTime)) {
            CompletableFuture<PeerPath> looking = CompletableFuture.supplyAsync(() -> paths.to("7"));
            isAsked.await();
            paths.forgetShuffle(1);
            paths.changed(member, null);
            assertThat(looking).isNotDone();
            answer.countDown();
            assertThat(looking.get(20, TimeUnit.SECONDS)).as("it had left").isNull();
        }
    }
}
