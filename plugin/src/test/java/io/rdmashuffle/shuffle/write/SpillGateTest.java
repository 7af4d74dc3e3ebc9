// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Adding and spilling, each while the other is under way. */
@Tag("unit")
@Timeout(60)
class SpillGateTest {
    private final SpillGate gate = new SpillGate();

    /** Starts something that has to wait, and returns once it does. */
    private static <T> CompletableFuture<T> startWaiting(Supplier<T> action) {
        AtomicReference<Thread> runner = new AtomicReference<>();
        CompletableFuture<T> result = CompletableFuture.supplyAsync(() -> {
            runner.set(Thread.currentThread());
            return action.get();
        });
        while (runner.get() == null || runner.get().getState() != Thread.State.TIMED_WAITING) {
            assertThat(result).as("has to wait").isNotDone();
            Thread.onSpinWait();
        }
        return result;
    }

    @Test
    void aThreadThatSpillsWaitsForTheRecordThatIsAdded() throws Exception {
        gate.enter();
        CompletableFuture<Boolean> spilling = startWaiting(gate::enterToSpill);
        gate.leave();
        assertThat(spilling.get(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aThreadThatAddsWaitsForTheOneThatSpills() throws Exception {
        assertThat(gate.enterToSpill()).isTrue();
        CompletableFuture<Boolean> adding = startWaiting(() -> {
            gate.enter();
            return true;
        });
        gate.leave();
        assertThat(adding.get(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void lastRecordWaitsForTheSpill() throws Exception {
        assertThat(gate.enterToSpill()).isTrue();
        CompletableFuture<Boolean> shutting = startWaiting(() -> {
            gate.shut();
            return true;
        });
        gate.leave();
        assertThat(shutting.get(30, TimeUnit.SECONDS)).isTrue();
        assertThat(gate.enterToSpill()).as("nothing to spill any more").isFalse();
        assertThatThrownBy(gate::enter).isInstanceOf(IllegalStateException.class);
        gate.shut();
        assertThat(gate.enterToSpill()).isFalse();
    }
}
