// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Listener that blocks the fabric's threads until they are released. */
final class Hold implements ReadRequest.Listener {
    private final CountDownLatch entered;
    private final CountDownLatch released = new CountDownLatch(1);

    Hold(int threads) {
        entered = new CountDownLatch(threads);
    }

    void awaitEntered() throws InterruptedException {
        assertThat(entered.await(30, TimeUnit.SECONDS)).isTrue();
    }

    void release() {
        released.countDown();
    }

    @Override
    public void succeeded(ReadRequest request) {
        request.target().close();
        hold();
    }

    @Override
    public void failed(ReadRequest request, ReadFailedException failure) {
        hold();
    }

    private void hold() {
        entered.countDown();
        try {
            assertThat(released.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
