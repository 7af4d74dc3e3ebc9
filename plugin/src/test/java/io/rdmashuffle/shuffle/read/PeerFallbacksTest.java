// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A peer that is gone holds up nothing but its own blocks. */
@Tag("unit")
@Timeout(60)
class PeerFallbacksTest {
    private final PeerFallbacks fallbacks = new PeerFallbacks();
    private final CountDownLatch connecting = new CountDownLatch(1);

    @AfterEach
    void close() {
        connecting.countDown();
        fallbacks.close();
    }

    private void awaitConnection() {
        try {
            connecting.await();
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aHealthyPeerDoesNotWaitForThoseThatAreGone() throws Exception {
        CountDownLatch fetched = new CountDownLatch(1);
        for (int peer = 0; peer < PeerFallbacks.MAX_THREADS - 1; peer++) {
            for (int block = 0; block < 10; block++) {
                fallbacks.execute("gone-" + peer, this::awaitConnection);
            }
        }
        fallbacks.execute("healthy", fetched::countDown);
        assertThat(fetched.await(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void fallbacksOfOnePeerRunInOrderAndAllOfThem() throws Exception {
        List<Integer> run = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch left = new CountDownLatch(200);
        fallbacks.execute("peer", this::awaitConnection);
        for (int i = 0; i < 200; i++) {
            int number = i;
            fallbacks.execute("peer", () -> {
                run.add(number);
                left.countDown();
                if (number % 7 == 0) {
                    throw new IllegalStateException("a failed fall-back must not keep the next one from running");
                }
            });
        }
        connecting.countDown();
        assertThat(left.await(30, TimeUnit.SECONDS)).isTrue();
        assertThat(run).hasSize(200).isSorted();
    }

    @Test
    void nothingStartsAfterTheEnd() {
        fallbacks.close();
        assertThatThrownBy(() -> fallbacks.execute("peer", () -> {})).isInstanceOf(RejectedExecutionException.class);
    }
}
