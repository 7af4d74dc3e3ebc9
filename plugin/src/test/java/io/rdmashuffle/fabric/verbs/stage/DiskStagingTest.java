// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.stage;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.connect.StagingService.Outcome;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.ByteArrayOutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The owner's side without a device: what peers ask for is in memory afterwards, or it is said why not. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DiskStagingTest {
    private static final int MIB = 1 << 20;
    private static final long MAX_BYTES = 2 * MIB;
    private static final int OUTPUT_BYTES = 200_000;
    private static final int MAX_WAITING = 1_000;
    private static final int READERS = 999;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path disk;

    private final Random random = new Random(3);
    private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
    private final List<Lease> leases = new ArrayList<>();
    private Pool pool;
    private DiskTier tier;
    private TieredPool both;
    private DiskStaging staging;
    private final List<Thread> threads = new ArrayList<>();

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 4 * MIB, 4 * MIB);
        pool.setAside(MIB, MIB / 4);
        tier = TestPools.diskTier(0, disk);
        both = new TieredPool(pool, tier);
        staging = staging(MAX_WAITING, Duration.ofSeconds(30));
        staging.serve(both);
    }

    private DiskStaging staging(int maxWaiting, Duration readWithin) {
        return new DiskStaging(MAX_BYTES, maxWaiting, readWithin, (name, body) -> {
            Thread thread = new Thread(body, name);
            threads.add(thread);
            thread.start();
        });
    }

    /** Replaces the tier and the staging by others. */
    private void use(DiskTier other, int maxWaiting, Duration readWithin) throws InterruptedException {
        end();
        tier.close();
        tier = other;
        both = new TieredPool(pool, tier);
        staging = staging(maxWaiting, readWithin);
        staging.serve(both);
    }

    private void end() throws InterruptedException {
        assertThat(staging.stop()).hasSize(threads.size());
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
        assertThat(staging.stagedBytes()).isZero();
    }

    @AfterEach
    void close() throws InterruptedException {
        end();
        leases.forEach(Lease::close);
        tier.close();
        pool.close();
    }

    private Lease output(byte[] content) {
        Lease lease = TestPools.filledOnDisk(both, content);
        leases.add(lease);
        return lease;
    }

    private byte[] content() {
        byte[] content = new byte[OUTPUT_BYTES];
        random.nextBytes(content);
        return content;
    }

    private static RemoteSlice part(Lease lease, long offset, long length) {
        return new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
    }

    private Outcome stage(RemoteSlice... ranges) throws InterruptedException {
        assertThat(staging.stage(null, List.of(ranges), outcomes::add)).isTrue();
        Outcome outcome = outcomes.poll(30, TimeUnit.SECONDS);
        assertThat(outcome).isNotNull();
        return outcome;
    }

    private byte[] taken(Outcome outcome) {
        assertThat(outcome.status()).isEqualTo(Status.OK);
        Lease lease = Objects.requireNonNull(outcome.lease(), "nothing is staged");
        byte[] bytes = TestPools.bytes(lease.memory().slice(0, outcome.bytes()));
        staging.giveBack(lease);
        return bytes;
    }

    private void assertRefused(Status status, RemoteSlice... ranges) throws InterruptedException {
        Outcome outcome = stage(ranges);
        assertThat(outcome.status()).isEqualTo(status);
        assertThat(outcome.lease()).isNull();
        assertThat(staging.stagedBytes()).isZero();
    }

    @Test
    void rangesLieOneAfterAnother() throws Exception {
        byte[] first = content();
        byte[] second = content();
        Lease one = output(first);
        Lease other = output(second);
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        expected.write(second, 17, 1);
        expected.write(first, 4096, 60_000);
        expected.write(second, OUTPUT_BYTES - 5, 5);
        assertThat(taken(stage(part(other, 17, 1), part(one, 4096, 60_000), part(other, OUTPUT_BYTES - 5, 5))))
                .isEqualTo(expected.toByteArray());
    }

    @Test
    void nothingOutsideOfLeasesIsRead() throws Exception {
        Lease lease = output(content());
        int region = lease.region().id();
        long end = lease.offset() + lease.lengthBytes();
        assertRefused(Status.UNKNOWN, new RemoteSlice(region, end - 10, 11));
        assertRefused(Status.UNKNOWN, new RemoteSlice(region, end, 100));
        assertRefused(Status.UNKNOWN, new RemoteSlice(region, Long.MAX_VALUE - 5, 100));
        assertRefused(Status.UNKNOWN, new RemoteSlice(region, 0, Long.MAX_VALUE));
        assertRefused(Status.UNKNOWN, new RemoteSlice(region + 1, 0, 1));
        assertRefused(Status.UNKNOWN, new RemoteSlice(0, 0, 64));
        assertRefused(Status.UNKNOWN, new RemoteSlice(Integer.MAX_VALUE, 0, 64));
        leases.remove(lease);
        Lease stays = output(content());
        lease.close();
        assertRefused(Status.UNKNOWN, part(lease, 0, 10));
        assertThat(taken(stage(part(stays, 0, 10)))).hasSize(10);
    }

    @Test
    void rangesBeforeABadOneAreStaged() throws Exception {
        byte[] content = content();
        Lease lease = output(content);
        RemoteSlice bad = new RemoteSlice(lease.region().id(), lease.offset() + lease.lengthBytes(), 10);
        assertThat(taken(stage(part(lease, 0, 500), bad, part(lease, 0, 500)))).isEqualTo(Arrays.copyOf(content, 500));
    }

    @Test
    void truncatedFileIsUnreadable() throws Exception {
        byte[] content = content();
        Lease lease = output(content);
        try (FileChannel file = FileChannel.open(lease.region().file(), StandardOpenOption.WRITE)) {
            file.truncate(lease.offset() + 1000);
        }
        assertRefused(Status.UNREADABLE, part(lease, 900, 101));
        assertThat(taken(stage(part(lease, 0, 900), part(lease, 900, 101)))).isEqualTo(Arrays.copyOf(content, 900));
    }

    @Test
    void fullPoolLeavesAPartForStagingAndThenThereIsNoRoom() throws Exception {
        byte[] content = content();
        Lease lease = output(content);
        leases.addAll(TestPools.fill(pool));
        List<Outcome> held = new ArrayList<>();
        for (Outcome next = stage(part(lease, 0, 100_000)); ; next = stage(part(lease, 0, 100_000))) {
            if (next.status() == Status.NO_ROOM) {
                break;
            }
            held.add(next);
        }
        assertThat(held).as("a sixteenth of the region, in pieces").hasSize(3);
        assertThat(held.get(2).bytes()).as("remaining bytes").isLessThan(100_000);
        for (Outcome each : held) {
            assertThat(taken(each)).isEqualTo(Arrays.copyOf(content, each.bytes()));
        }
        assertThat(taken(stage(part(lease, 0, 100_000)))).hasSize(100_000);
    }

    @Test
    void stagedBytesAreBounded() throws Exception {
        Lease lease = output(new byte[2 * MIB]);
        List<Outcome> held = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            held.add(stage(part(lease, 0, MIB)));
        }
        Outcome refused = stage(part(lease, 0, MIB));
        assertThat(refused.status()).isEqualTo(Status.NO_ROOM);
        held.forEach(each -> assertThat(taken(each)).hasSize(MIB));
        Outcome long2 = stage(part(lease, 0, 2 * MIB));
        assertThat(long2.bytes()).as("half of the bound for one question").isEqualTo(MIB);
        assertThat(taken(long2)).hasSize(MIB);
    }

    @Test
    void requestsWaitForMemoryInTurn(@TempDir Path second, @TempDir Path third) throws Exception {
        use(TestPools.diskTier(0, disk, second, third), MAX_WAITING, Duration.ofSeconds(30));
        byte[] content = content();
        List<Lease> outputs = List.of(output(content), output(content), output(content));
        byte[] expected = Arrays.copyOf(content, 100_000);
        for (int reader = 0; reader < READERS; reader++) {
            assertThat(staging.stage(null, List.of(part(outputs.get(reader % 3), 0, 100_000)), outcomes::add))
                    .isTrue();
        }
        for (int reader = 0; reader < READERS; reader++) {
            Outcome outcome = Objects.requireNonNull(outcomes.poll(30, TimeUnit.SECONDS), "nothing is staged");
            assertThat(staging.stagedBytes()).isLessThanOrEqualTo(MAX_BYTES);
            assertThat(taken(outcome)).isEqualTo(Arrays.copyOf(expected, outcome.bytes()));
        }
        assertThat(threads).hasSize(3);
    }

    @Test
    void aDirectoryDoesNotWaitForAnother(@TempDir Path second) throws Exception {
        use(TestPools.diskTier(0, disk, second), MAX_WAITING, Duration.ofSeconds(30));
        List<Lease> outputs = List.of(output(content()), output(content()));
        CountDownLatch go = new CountDownLatch(1);
        assertThat(staging.stage(null, List.of(part(outputs.get(0), 0, 10)), outcome -> {
                    awaitQuietly(go);
                    outcomes.add(outcome);
                }))
                .isTrue();
        assertThat(taken(stage(part(outputs.get(1), 0, 20)))).hasSize(20);
        go.countDown();
        assertThat(taken(Objects.requireNonNull(outcomes.poll(30, TimeUnit.SECONDS), "nothing is staged")))
                .hasSize(10);
    }

    @Test
    void withoutAThreadRequestsAreRefusedUntilThereIsOne() throws Exception {
        AtomicBoolean mayStart = new AtomicBoolean();
        end();
        staging = new DiskStaging(MAX_BYTES, MAX_WAITING, Duration.ofSeconds(30), (name, body) -> {
            if (!mayStart.get()) {
                throw new OutOfMemoryError("unable to create native thread, as the test has it");
            }
            Thread thread = new Thread(body, name);
            threads.add(thread);
            thread.start();
        });
        staging.serve(both);
        Lease lease = output(content());
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcomes::add))
                .isFalse();
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcomes::add))
                .isFalse();
        mayStart.set(true);
        assertThat(taken(stage(part(lease, 0, 10)))).hasSize(10);
    }

    @Test
    void aRequestIsNotReadForAPeerThatHasGivenUp() throws Exception {
        Duration readWithin = Duration.ofMillis(200);
        use(TestPools.diskTier(0, disk), MAX_WAITING, readWithin);
        Lease lease = output(content());
        CountDownLatch go = new CountDownLatch(1);
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcome -> {
                    awaitQuietly(go);
                    // On a machine that is busy enough the first request is late as well.
                    if (outcome.lease() != null) {
                        staging.giveBack(outcome.lease());
                    }
                }))
                .isTrue();
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcomes::add))
                .isTrue();
        long asked = System.nanoTime();
        while (System.nanoTime() - asked < readWithin.toNanos()) {
            Thread.onSpinWait();
        }
        go.countDown();
        Outcome late = Objects.requireNonNull(outcomes.poll(30, TimeUnit.SECONDS), "no answer");
        assertThat(late.status()).isEqualTo(Status.NO_ROOM);
    }

    @Test
    void withoutADiskTierNothingIsKnown() throws Exception {
        Lease lease = output(content());
        staging.serve(TieredPool.of(pool));
        assertRefused(Status.UNKNOWN, part(lease, 0, 10));
    }

    @Test
    void queueIsBoundedAndWhatWaitsWhenItEndsIsRefused() throws Exception {
        Lease lease = output(content());
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcome -> {
                    busy.countDown();
                    awaitQuietly(go);
                    outcomes.add(outcome);
                }))
                .isTrue();
        busy.await();
        int waiting = 0;
        while (staging.stage(null, List.of(part(lease, 0, 10)), outcomes::add)) {
            waiting++;
            assertThat(waiting).isLessThanOrEqualTo(MAX_WAITING);
        }
        List<Runnable> ended = staging.stop();
        assertThat(ended).hasSize(1);
        go.countDown();
        threads.get(0).join();
        assertThat(outcomes).hasSize(1 + waiting);
        assertThat(taken(outcomes.remove())).hasSize(10);
        assertThat(outcomes).allSatisfy(outcome -> assertThat(outcome.lease()).isNull());
        assertThat(staging.stage(null, List.of(part(lease, 0, 10)), outcomes::add))
                .isFalse();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void survivesARetiredPoolAndAnInterrupt() throws Exception {
        Lease lease = output(content());
        assertThat(taken(stage(part(lease, 0, 10)))).hasSize(10);
        threads.get(0).interrupt();
        Outcome interrupted = stage(part(lease, 0, 10));
        if (interrupted.status() != Status.NO_ROOM) {
            assertThat(taken(interrupted)).hasSize(10);
        }
        assertThat(taken(stage(part(lease, 0, 10)))).hasSize(10);
        both.retire();
        assertRefused(Status.NO_ROOM, part(lease, 0, 10));
    }
}
