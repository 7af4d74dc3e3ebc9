// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.FakeDevice;
import io.rdmashuffle.verbs.LeakCheck;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a progress thread does each turn, and how far away its deadlines may be. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ProgressTest {
    /** A queue that was armed with completions in it reports none of them. */
    @Test
    void eachTurnTakesCompletionsAlsoIfItBeginsWithATask() {
        FakeDevice device = new FakeDevice();
        AtomicLong polls = new AtomicLong();
        AtomicLong turns = new AtomicLong();
        device.answer("ibv_poll_cq", arguments -> {
            polls.incrementAndGet();
            return 0;
        });
        device.answer("ibv_get_cq_event", arguments -> FakeDevice.nothingThere());
        try (Context context = device.open()) {
            CompletionChannel channel = context.createCompletionChannel();
            CompletionQueue queue = context.createCompletionQueue(4, channel);
            Progress progress = new Progress(channel, queue, 4, false);
            progress.add(new Timed() {
                @Override
                public long tick(long now) {
                    turns.incrementAndGet();
                    progress.execute(() -> {});
                    return Operation.NEVER;
                }

                @Override
                public void fail(Throwable reason) {
                    progress.forget(this);
                }

                @Override
                public void abort(Throwable reason) {
                    progress.forget(this);
                }
            });
            progress.start();
            while (turns.get() < 100) {
                Thread.onSpinWait();
            }
            assertThat(progress.stop(new IOException("the test ends"))).isFalse();
            assertThat(polls.get()).isGreaterThanOrEqualTo(turns.get());
        }
        device.close();
    }

    @Test
    void timesThatCannotBeCountedAreRefused() throws Exception {
        Duration forever = ChronoUnit.FOREVER.getDuration();
        assertThatThrownBy(() -> EndpointOptions.DEFAULT.withOperationTimeout(forever))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("292 years");
        ScriptedDevice device = new ScriptedDevice();
        InetSocketAddress remote = new InetSocketAddress(ScriptedDevice.ADDRESS, 7);
        try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT)) {
            assertThatThrownBy(() -> endpoint.connect(remote, forever)).hasMessageContaining("292 years");
            var connecting = endpoint.connect(remote, Duration.ofNanos(Long.MAX_VALUE));
            ScriptedDevice.next(device.connects);
            assertThat(connecting).as("its deadline is not in the past").isNotDone();
        }
        device.close();
    }
}
