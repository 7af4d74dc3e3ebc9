// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.LibC;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which descriptors a wait ends for. */
@Tag("unit")
@Timeout(60)
class WaitSetTest {
    private final LibC libc = LibC.load();
    private final int ready = libc.eventfd(1, LibC.EFD_NONBLOCK);
    private final int unready = libc.eventfd(0, LibC.EFD_NONBLOCK);
    private final WaitSet waits = new WaitSet(2);

    @AfterEach
    void close() {
        waits.close();
        libc.close(ready);
        libc.close(unready);
    }

    @Test
    void wakeUpEndsAnUnboundedWait() throws InterruptedException {
        waits.add(unready);
        Thread waker = new Thread(() -> {
            // Long enough to see a wait that ends at once; one that has not begun by then is woken as well.
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            waits.wake();
        });
        waker.start();
        assertThat(waits.await(Long.MAX_VALUE)).isTrue();
        waker.join();
    }

    @Test
    void ignoredDescriptorEndsNoWaitAndIsNotReady() {
        int first = waits.add(ready);
        int second = waits.add(unready);
        assertThat(waits.await(0)).isTrue();
        assertThat(waits.isReady(first)).isTrue();
        assertThat(waits.isReady(second)).isFalse();
        waits.ignore(first);
        assertThat(waits.isReady(first)).isFalse();
        assertThat(waits.await(0)).isFalse();
        assertThat(waits.isReady(first)).isFalse();
        waits.wake();
        assertThat(waits.await(0)).isTrue();
    }
}
