// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class RemovedShuffleCleanerTest {
    private static final Duration OFTEN = Duration.ofMillis(5);

    private final Set<Integer> held = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<Integer> removedHere = new LinkedBlockingQueue<>();
    private PeriodicWork sweep = new PeriodicWork("sweep", List.of(), Duration.ofHours(1));

    private void remove(int shuffleId) {
        held.remove(shuffleId);
        removedHere.add(shuffleId);
    }

    private void begin(UnaryOperator<Set<Integer>> removedElsewhere) {
        sweep.close();
        sweep = new PeriodicWork(
                "sweep", List.of(new RemovedShuffleCleaner(() -> held, removedElsewhere, this::remove)), OFTEN);
    }

    @AfterEach
    void end() {
        sweep.close();
    }

    @Test
    void removesExactlyTheRemovedShuffles() throws Exception {
        held.addAll(Set.of(1, 2, 3));
        Set<Integer> goneElsewhere = ConcurrentHashMap.newKeySet();
        begin(asked -> intersection(asked, goneElsewhere));
        goneElsewhere.add(2);
        assertThat(removedHere.take()).isEqualTo(2);
        goneElsewhere.add(1);
        assertThat(removedHere.take()).isEqualTo(1);
        sweep.close();
        assertThat(held).containsExactly(3);
        assertThat(removedHere).isEmpty();
    }

    @Test
    void aQuestionThatFailsIsAskedAgain() throws Exception {
        held.add(1);
        AtomicInteger failures = new AtomicInteger();
        begin(asked -> {
            switch (failures.getAndIncrement()) {
                case 0 -> throw new IllegalStateException("on purpose");
                case 1 -> throw new OutOfMemoryError("on purpose");
                default -> {
                    return asked;
                }
            }
        });
        assertThat(removedHere.take()).isEqualTo(1);
    }

    /** The memory that a sweep frees goes right after it. */
    @Test
    void closingEndsASweepUnderWay() throws Exception {
        held.add(1);
        CountDownLatch asking = new CountDownLatch(1);
        AtomicBoolean ended = new AtomicBoolean();
        begin(asked -> {
            asking.countDown();
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                ended.set(true);
            }
            return Set.of();
        });
        assertThat(asking.await(30, TimeUnit.SECONDS)).isTrue();
        sweep.close();
        assertThat(ended).isTrue();
        assertThat(removedHere).isEmpty();
    }

    private static Set<Integer> intersection(Set<Integer> one, Set<Integer> other) {
        Set<Integer> both = ConcurrentHashMap.newKeySet();
        both.addAll(one);
        both.retainAll(other);
        return both;
    }
}
