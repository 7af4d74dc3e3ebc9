// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Executors that start before their devices. */
@Tag("unit")
@Timeout(60)
class PortWaitTest {
    private static final List<PortSelector> NAMED = PortSelector.parse("mlx5_0");
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private long nanos = Long.MAX_VALUE - 1;
    private int looks;

    @AfterEach
    void letTheThreadGoOn() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private List<LocalPort> choose(int comesWithLook, List<PortSelector> selectors, Duration timeout)
            throws RdmaUnavailableException {
        PortWait.Search search = asked -> {
            assertThat(asked).isEqualTo(selectors);
            looks++;
            if (looks == 1) {
                throw new NativeException("rdma_create_event_channel()", Errno.ENODEV.number(), "");
            }
            if (looks < comesWithLook) {
                throw new RdmaUnavailableException("look " + looks);
            }
            return List.of();
        };
        return new PortWait(search, () -> nanos, millis -> nanos += TimeUnit.MILLISECONDS.toNanos(millis))
                .choose(selectors, timeout);
    }

    @Test
    void namedPortsAreLookedForUntilTheyAreThere() throws Exception {
        assertThat(choose(5, NAMED, TIMEOUT)).isEmpty();
        assertThat(looks).isEqualTo(5);
    }

    @Test
    void theLastLookSaysWhatWasMissing() {
        assertThatThrownBy(() -> choose(100, NAMED, TIMEOUT))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessage("look 21");
    }

    /** An executor on a machine without a device starts without a wait. */
    @Test
    void anyPortIsNotWaitedFor() {
        assertThatThrownBy(() -> choose(100, List.of(), TIMEOUT))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessageContaining("rdma_create_event_channel()");
        assertThat(looks).isOne();
    }

    @Test
    void noTimeIsNoWait() {
        assertThatThrownBy(() -> choose(100, NAMED, Duration.ZERO)).isInstanceOf(RdmaUnavailableException.class);
        assertThat(looks).isOne();
    }

    @Test
    void anInterruptEndsTheWaitAndIsKept() {
        PortWait interrupted = new PortWait(
                asked -> {
                    throw new RdmaUnavailableException("none yet");
                },
                () -> nanos,
                millis -> {
                    throw new InterruptedException();
                });
        assertThatThrownBy(() -> interrupted.choose(NAMED, TIMEOUT)).hasMessage("none yet");
        assertThat(Thread.interrupted()).isTrue();
    }
}
