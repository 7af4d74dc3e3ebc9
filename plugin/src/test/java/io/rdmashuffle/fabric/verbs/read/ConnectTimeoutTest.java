// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of reads whose peer was not connected in time: they fail at once, and the path is not to blame. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ConnectTimeoutTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadRig rig;

    @BeforeEach
    void open() throws InterruptedException {
        rig = new ReadRig(directory, new Random(3));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void timeOut() throws InterruptedException {
        rig.submit(1);
        rig.settle();
        rig.control().timeOut();
        rig.settle();
    }

    @Test
    void readsThatWaitedFailAtOnceAndBlameNothing() throws Exception {
        rig.submit(2);
        timeOut();
        assertThat(rig.outcomes().failures()).hasSize(3).allSatisfy(failure -> {
            assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED);
            assertThat(failure.reason().isFaultOfPath()).isFalse();
        });
        assertThat(rig.control().hasAttempt())
                .as("nothing waits for another one")
                .isFalse();
    }

    @Test
    void nextReadAfterThePauseTriesAgain() throws Exception {
        timeOut();
        rig.pass(Duration.ofSeconds(1).minusNanos(1));
        rig.submit(1);
        rig.settle();
        assertThat(rig.outcomes().failures())
                .as("does not wait for the end of the pause")
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
        assertThat(rig.control().hasAttempt()).isFalse();
        rig.pass(Duration.ofNanos(1));
        rig.submit(1);
        rig.queues().succeed(rig.connect(), 1);
        rig.settle();
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void pauseDoublesTo32SecondsAndResets() throws Exception {
        for (int seconds : new int[] {1, 2, 4, 8, 16, 32, 32}) {
            timeOut();
            rig.pass(Duration.ofSeconds(seconds).minusNanos(1));
            rig.submit(1);
            rig.settle();
            assertThat(rig.control().hasAttempt())
                    .as("%s s are not over", seconds)
                    .isFalse();
            rig.pass(Duration.ofNanos(1));
        }
        rig.submit(1);
        rig.queues().succeed(rig.connect(), 1);
        rig.settle();
        rig.control().disconnect(rig.control().alive().get(0));
        rig.settle();
        rig.passPause();
        timeOut();
        rig.pass(Duration.ofSeconds(1));
        rig.submit(1);
        rig.settle();
        assertThat(rig.control().hasAttempt()).isTrue();
    }

    @Test
    void deadlineBeforeItsTurnDoesNotBlameThePath() throws Exception {
        rig.submit(rig.request(rig.slice(0, 100)), 0, Duration.ofSeconds(2).toNanos());
        rig.submit(rig.request(ReadRig.onDisk(0, 100)), 0, Duration.ofSeconds(2).toNanos());
        rig.settle();
        rig.pass(Duration.ofSeconds(2));
        rig.settle();
        assertThat(rig.outcomes().failures())
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
    }

    @Test
    void anotherLaneServesWhatOneCouldNotConnectInTime() throws Exception {
        try (ReadRig two = new ReadRig(directory, new Random(4), new FakeRdma(), ReadRig.DEPTH, 2)) {
            two.submit(two.request(two.slice(0, 10)), 0, ReadRig.TIMEOUT_NANOS);
            two.settle();
            two.control().timeOut();
            int pair = two.connect();
            two.queues().succeed(pair, 1);
            two.submit(two.request(two.slice(5, 10)), 0, ReadRig.TIMEOUT_NANOS);
            two.settle();
            two.queues().succeed(pair, 1);
            two.settle();
            assertThat(two.outcomes().successes())
                    .as("also one that comes during the pause")
                    .isEqualTo(2);
            assertThat(two.channels().get(0).connection()).isNull();
        }
    }
}
