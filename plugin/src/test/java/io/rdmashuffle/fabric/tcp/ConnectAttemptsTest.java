// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ConnectAttemptsTest {
    private static final long START = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(5);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    private static ConnectAttempts attempts(int hosts) throws UnknownHostException {
        List<InetAddress> all = List.of(host(1), host(2), host(3));
        return new ConnectAttempts(all.subList(0, hosts), 7337, 0, Duration.ofSeconds(6), START);
    }

    private static InetAddress host(int last) throws UnknownHostException {
        return InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) last});
    }

    /** Returns how long no attempt is made after one that begins now and fails after a time. */
    private static long pauseAfter(ConnectAttempts attempts, long begin, long duration) {
        attempts.begin(begin);
        attempts.tryHost(begin);
        long end = begin + duration;
        attempts.failed(end);
        long pause = 0;
        while (attempts.isPaused(end + pause)) {
            pause += MILLI;
        }
        return pause;
    }

    @Test
    void pausesDoubleToTwoSeconds() throws Exception {
        ConnectAttempts attempts = attempts(1);
        assertThat(attempts.isPaused(START)).isFalse();
        long now = START;
        for (int millis : new int[] {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
            assertThat(pauseAfter(attempts, now, MILLI)).isEqualTo(millis * MILLI);
            now += MINUTE;
        }
        attempts.succeeded();
        assertThat(pauseAfter(attempts, now, MILLI)).isEqualTo(50 * MILLI);
    }

    @Test
    void pauseIsSixAttemptsAndAtMostTenMinutes() throws Exception {
        ConnectAttempts attempts = attempts(1);
        long now = START;
        for (int seconds : new int[] {36, 72, 144, 288, 576, 600, 600}) {
            assertThat(pauseAfter(attempts, now, 6 * SECOND)).isEqualTo(seconds * SECOND);
            now += 20 * MINUTE;
        }
    }

    @Test
    void peerThatAnsweredBeforeIsRetriedSoon() throws Exception {
        ConnectAttempts attempts = attempts(1);
        attempts.succeeded();
        for (int i = 0; i < 10; i++) {
            assertThat(pauseAfter(attempts, START + i * MINUTE, 6 * SECOND)).isLessThanOrEqualTo(2 * SECOND);
        }
    }

    @Test
    void eachAddressHasItsPartOfTheTimeAndTheLastTheRest() throws Exception {
        ConnectAttempts attempts = attempts(3);
        attempts.begin(START);
        long now = START;
        for (int last = 1; last <= 2; last++) {
            assertThat(attempts.tryHost(now).getAddress()).isEqualTo(host(last));
            assertThat(attempts.isHostOver(now + 2 * SECOND - 1)).isFalse();
            now += 2 * SECOND;
            assertThat(attempts.isHostOver(now)).isTrue();
            assertThat(attempts.mayTryAgain(false, now)).isTrue();
            attempts.nextHost();
        }
        assertThat(attempts.tryHost(now).getAddress()).isEqualTo(host(3));
        assertThat(attempts.isHostOver(now + MINUTE)).isFalse();
        assertThat(attempts.mayTryAgain(false, now)).isFalse();
        assertThat(attempts.isOver(now + 2 * SECOND - 1)).isFalse();
        assertThat(attempts.isOver(now + 2 * SECOND)).isTrue();
    }

    @Test
    void refusalIsQuickAndSilenceIsNot() throws Exception {
        ConnectAttempts attempts = attempts(1);
        attempts.begin(START);
        attempts.tryHost(START);
        assertThat(attempts.wasSilent(START + SECOND - 1)).isFalse();
        assertThat(attempts.wasSilent(START + SECOND)).isTrue();
    }

    @Test
    void acceptingAddressIsTriedThreeTimes() throws Exception {
        ConnectAttempts attempts = attempts(1);
        attempts.begin(START);
        attempts.tryHost(START);
        assertThat(attempts.mayTryAgain(false, START)).isFalse();
        assertThat(attempts.mayTryAgain(true, START)).isTrue();
        assertThat(attempts.mayTryAgain(true, START + 6 * SECOND)).isFalse();
        attempts.tryHost(START);
        assertThat(attempts.mayTryAgain(true, START)).isTrue();
        attempts.tryHost(START);
        assertThat(attempts.mayTryAgain(true, START)).isFalse();
    }

    @Test
    void nextAttemptBeginsWithTheAddressAfterTheOneThatFailed() throws Exception {
        ConnectAttempts attempts = attempts(2);
        attempts.begin(START);
        attempts.tryHost(START);
        attempts.failed(START);
        attempts.begin(START + MINUTE);
        assertThat(attempts.tryHost(START + MINUTE).getAddress()).isEqualTo(host(2));
        assertThat(attempts.currentHost()).isEqualTo("/10.0.0.2:7337");
    }
}
