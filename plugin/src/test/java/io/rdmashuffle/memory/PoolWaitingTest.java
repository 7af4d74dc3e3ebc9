// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Who waits for room, for what and how long, while the pool grows and when it cannot. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PoolWaitingTest {
    private static final long MIB = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    /** A pool of regions of 1 MiB whose second region is being registered until the latch opens. */
    private Pool growingSlowly(long capBytes, CountDownLatch mayEnd) {
        return Pool.create(new PoolSettings(directory, capBytes, 0, MIB, false), region -> {
            if (region.id() == 1) {
                awaitOrFail(mayEnd);
            }
        });
    }

    private static void awaitOrFail(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static CompletableFuture<@Nullable Lease> reserving(Pool pool, long bytes, WaitPolicy waitPolicy) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, waitPolicy);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void growthStartsThoughNoRequestWaits() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        try (Pool pool = growingSlowly(2 * MIB, mayEnd)) {
            Lease most = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB - 4096);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, WaitPolicy.NONE))
                    .as("begins to grow")
                    .isNull();
            Lease less = pool.reserve(Purpose.MAP_OUTPUT, 64, MIB, WaitPolicy.NONE);
            assertThat(less).as("what there is").isNotNull();
            assertThat(less.lengthBytes()).isEqualTo(4096);
            CompletableFuture<@Nullable Lease> task = reserving(pool, MIB, WaitPolicy.GROWTH);
            mayEnd.countDown();
            Lease grown = task.get(30, TimeUnit.SECONDS);
            assertThat(grown).isNotNull();
            assertThat(grown.region().id()).isOne();
            Stream.of(most, less, grown).forEach(Lease::close);
        }
    }

    @Test
    void growthThatHangsIsWaitedForNoLongerThanExpected() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        Pool pool = growingSlowly(2 * MIB, mayEnd);
        Lease most = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB - 4096);
        assertThat(pool.waitedNanos()).as("none has waited").isZero();
        for (int attempt = 0; attempt < 20; attempt++) {
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, WaitPolicy.GROWTH))
                    .isNull();
        }
        Lease less = pool.reserve(Purpose.MAP_OUTPUT, 64, MIB, WaitPolicy.GROWTH);
        assertThat(less).isNotNull();
        assertThat(less.lengthBytes()).isEqualTo(4096);
        assertThat(pool.waitedNanos()).as("until growth was late").isPositive();
        most.close();
        less.close();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(pool::close);
        mayEnd.countDown();
        closing.get(30, TimeUnit.SECONDS);
        assertThat(directory)
                .as("the pool's end waits for the region being created")
                .isEmptyDirectory();
    }

    @Test
    void releasedBytesGoToTheLongestWaiting() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB)) {
            Lease half = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 2);
            Lease quarter = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 4);
            Lease rest = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 4);
            WaitPolicy patient = new WaitPolicy(true, Duration.ofSeconds(50));
            CompletableFuture<@Nullable Lease> large = waiting(pool, MIB / 2, patient);
            CompletableFuture<@Nullable Lease> first = waiting(pool, MIB / 4, patient);
            CompletableFuture<@Nullable Lease> second = waiting(pool, MIB / 4, patient);
            quarter.close();
            Lease given = first.get(30, TimeUnit.SECONDS);
            assertThat(given).isNotNull();
            assertThat(second.isDone() || large.isDone()).isFalse();
            half.close();
            Lease givenLarge = large.get(30, TimeUnit.SECONDS);
            assertThat(givenLarge).isNotNull();
            given.close();
            Lease givenLast = second.get(30, TimeUnit.SECONDS);
            assertThat(givenLast).isNotNull();
            Stream.of(rest, givenLarge, givenLast).forEach(Lease::close);
        }
    }

    @Test
    void itIsSaidOnceThatMapOutputsFindNoRoom() throws Exception {
        try (LoggedLines lines = LoggedLines.of(Pool.class);
                Pool pool = TestPools.create(directory, MIB, MIB)) {
            Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            assertThat(pool.reserve(Purpose.RECEIVE, 64, 64, WaitPolicy.NONE)).isNull();
            assertThat(lines.all()).isEmpty();
            for (long bytes : new long[] {64, 2 * MIB, 64}) {
                assertThat(pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, WaitPolicy.GROWTH))
                        .isNull();
            }
            assertThat(lines.all()).singleElement().asString().contains("spark.shuffle.rdma.pool.maxSize");
            all.close();
        }
        try (LoggedLines lines = LoggedLines.of(Pool.class);
                Pool pool = TestPools.create(directory, MIB, MIB)) {
            pool.shortageReported();
            Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 64, 64, WaitPolicy.NONE))
                    .isNull();
            assertThat(lines.all()).isEmpty();
            all.close();
        }
    }

    /** The warning was not given where the request was longer than any lease, however full the pool. */
    @Test
    void warnsOfAFullPoolWhateverWasAskedFor() throws Exception {
        try (LoggedLines lines = LoggedLines.of(Pool.class);
                Pool pool = TestPools.create(directory, 2 * MIB, MIB)) {
            List<Lease> all = TestPools.fill(pool);
            assertThat(lines.all()).hasSizeLessThanOrEqualTo(1);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 4 * MIB, 4 * MIB, WaitPolicy.GROWTH))
                    .isNull();
            assertThat(lines.all()).singleElement().asString().contains("Pool full");
            all.forEach(Lease::close);
        }
    }

    @Test
    void warnsOfAFullPoolOnlyWhenMemoryIsUsedUp() throws Exception {
        try (LoggedLines lines = LoggedLines.of(Pool.class);
                Pool pool = TestPools.create(directory, 2 * MIB, MIB)) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 2);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, WaitPolicy.GROWTH))
                    .as("half a region is free")
                    .isNull();
            assertThat(pool.usage().refusals()).isOne();
            assertThat(lines.all()).isEmpty();
            Stream.of(first, second).forEach(Lease::close);
        }
    }

    /** Starts a reservation on a thread of its own and returns when it waits. */
    private static CompletableFuture<@Nullable Lease> waiting(Pool pool, long bytes, WaitPolicy waitPolicy) {
        CompletableFuture<@Nullable Lease> answer = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                answer.complete(pool.reserve(Purpose.RECEIVE, bytes, bytes, waitPolicy));
            } catch (InterruptedException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        return answer;
    }
}
