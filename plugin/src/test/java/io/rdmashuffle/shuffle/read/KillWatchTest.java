// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class KillWatchTest {
    private final KillWatch watch = new KillWatch();
    private final AtomicInteger ended = new AtomicInteger();

    @AfterEach
    void close() {
        watch.close();
    }

    @Test
    void aReadOfAKilledTaskIsEndedOnceAndOthersGoOn() {
        AtomicBoolean killed = new AtomicBoolean();
        AtomicInteger looks = new AtomicInteger();
        watch.watch(
                () -> {
                    looks.incrementAndGet();
                    return false;
                },
                () -> ended.addAndGet(100));
        watch.watch(killed::get, ended::incrementAndGet);
        eventually().until(() -> looks.get() > 0);
        assertThat(ended).hasValue(0);
        killed.set(true);
        eventually().until(() -> ended.get() > 0);
        int then = looks.get();
        eventually().until(() -> looks.get() > then + 1);
        assertThat(ended).hasValue(1);
    }

    @Test
    void aReadThatIsForgottenIsNotEnded() {
        AtomicInteger looks = new AtomicInteger();
        Runnable forget = watch.watch(() -> true, () -> ended.addAndGet(100));
        forget.run();
        watch.watch(() -> looks.incrementAndGet() > 1, ended::incrementAndGet);
        eventually().until(() -> ended.get() > 0);
        assertThat(ended).hasValue(1);
    }

    @Test
    void nothingIsWatchedAfterTheEnd() {
        watch.close();
        Runnable forget = watch.watch(() -> true, ended::incrementAndGet);
        forget.run();
        assertThat(ended).hasValue(0);
    }
}
