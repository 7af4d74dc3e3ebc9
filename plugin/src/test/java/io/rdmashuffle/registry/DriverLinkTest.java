// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class DriverLinkTest {
    private static final Duration TIMEOUT = Duration.ofMillis(1234);
    private static final RegistryMessage QUESTION = new Lookup("1");
    private static final RegistryMessage ANSWER = new Taken();

    /** Of nanoseconds, which may be any number and overflow. */
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 100);

    private final List<RegistryMessage> asked = new ArrayList<>();
    private boolean down;
    private boolean broken;
    private Runnable beforeFailure = () -> {};
    private final DriverLink link = new DriverLink(this::answer, TIMEOUT, clock::get);

    private RegistryMessage answer(RegistryMessage request, Duration timeout) throws RegistryUnavailableException {
        asked.add(request);
        assertThat(timeout).isEqualTo(TIMEOUT);
        if (down) {
            beforeFailure.run();
            throw new RegistryUnavailableException("the driver is down");
        }
        if (broken) {
            throw new IllegalStateException("the connection is broken");
        }
        return ANSWER;
    }

    /** Sends a request after {@code millis}; returns whether the driver received it. */
    private boolean isAskedAfter(long millis) {
        clock.addAndGet(Duration.ofMillis(millis).toNanos());
        int before = asked.size();
        RegistryMessage answer = link.ask(QUESTION);
        assertThat(answer).isEqualTo(down || asked.size() == before ? null : ANSWER);
        return asked.size() > before;
    }

    @Test
    void anAnswerIsPassedOnAndNothingIsPaused() {
        assertThat(link.timeout()).isEqualTo(TIMEOUT);
        assertThat(link.ask(QUESTION)).isSameAs(ANSWER);
        assertThat(link.ask(QUESTION)).isSameAs(ANSWER);
        assertThat(asked).containsExactly(QUESTION, QUESTION);
    }

    @Test
    void pausesDoubleUpToHalfAMinute() {
        down = true;
        assertThat(isAskedAfter(0)).isTrue();
        for (long pause : new long[] {1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
            assertThat(isAskedAfter(pause - 1)).as("within %d ms", pause).isFalse();
            assertThat(isAskedAfter(1)).as("after %d ms", pause).isTrue();
        }
    }

    @Test
    void whatCannotBeRepeatedIsAskedDuringAPause() {
        down = true;
        assertThat(isAskedAfter(0)).isTrue();
        down = false;
        assertThat(isAskedAfter(1)).isFalse();
        assertThat(link.askNow(QUESTION, TIMEOUT)).isSameAs(ANSWER);
        assertThat(isAskedAfter(1)).as("the answer ends the pause").isTrue();
    }

    @Test
    void anAnswerEndsThePauses() {
        down = true;
        assertThat(isAskedAfter(0)).isTrue();
        assertThat(isAskedAfter(1_000)).isTrue();
        down = false;
        assertThat(isAskedAfter(1_999)).as("the driver is left alone").isFalse();
        assertThat(isAskedAfter(1)).isTrue();
        assertThat(isAskedAfter(0)).isTrue();
        down = true;
        assertThat(isAskedAfter(0)).isTrue();
        assertThat(isAskedAfter(999)).isFalse();
        assertThat(isAskedAfter(1)).as("the first pause is short again").isTrue();
    }

    @Test
    void aConnectionThatThrowsIsNoAnswer() {
        broken = true;
        assertThat(link.ask(QUESTION)).isNull();
        broken = false;
        assertThat(link.ask(QUESTION)).as("paused").isNull();
        clock.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThat(link.ask(QUESTION)).isSameAs(ANSWER);
    }

    @Test
    void anInterruptBeginsNoPause() {
        down = true;
        beforeFailure = () -> Thread.currentThread().interrupt();
        assertThat(link.ask(QUESTION)).isNull();
        assertThat(Thread.interrupted()).isTrue();
        down = false;
        assertThat(link.ask(QUESTION)).isSameAs(ANSWER);
    }

    /** Questions that were under way when the first of them failed say nothing new. */
    @Test
    void aFailureWithinAPauseDoesNotMakeItLonger() {
        down = true;
        beforeFailure = () -> {
            beforeFailure = () -> {};
            assertThat(link.ask(QUESTION)).isNull();
        };
        assertThat(isAskedAfter(0)).isTrue();
        assertThat(asked).hasSize(2);
        assertThat(isAskedAfter(999)).isFalse();
        assertThat(isAskedAfter(1)).isTrue();
    }

    @Test
    void silentDriverIsLoggedOnceAndItsReturnToo() {
        try (LoggedLines lines = LoggedLines.of(DriverLink.class, Level.INFO)) {
            assertThat(isAskedAfter(0)).isTrue();
            assertThat(lines.all()).isEmpty();
            down = true;
            for (int i = 0; i < 3; i++) {
                assertThat(isAskedAfter(30_000)).isTrue();
            }
            assertThat(lines.all())
                    .singleElement()
                    .asString()
                    .contains("Lookup", "spark.shuffle.rdma.registry.timeout=1234 ms");
            down = false;
            assertThat(isAskedAfter(30_000)).isTrue();
            assertThat(isAskedAfter(0)).isTrue();
            assertThat(lines.all()).hasSize(2).last().asString().contains("answers again");
        }
    }
}
