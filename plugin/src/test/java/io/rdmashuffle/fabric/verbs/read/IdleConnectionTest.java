// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

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

/** Connections through which nothing is read for long: closed, and made anew as if it were the first time. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class IdleConnectionTest {
    /** How much later than the timeout a connection may be closed. */
    private static final Duration LATE = ReadRig.IDLE_TIMEOUT.dividedBy(8);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadRig rig;

    @BeforeEach
    void open() throws InterruptedException {
        rig = new ReadRig(directory, new Random(6));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void read() throws InterruptedException {
        int before = rig.outcomes().successes();
        rig.submit(1);
        rig.settle();
        int pair = rig.control().hasAttempt()
                ? rig.connect()
                : rig.queues().pairNumbers().get(0);
        rig.queues().succeed(pair, 1);
        rig.settle();
        assertThat(rig.outcomes().successes()).isEqualTo(before + 1);
    }

    private void pass(Duration time) {
        rig.pass(time);
        rig.settle();
    }

    @Test
    void idleConnectionReopensWithoutAPause() throws Exception {
        read();
        pass(ReadRig.IDLE_TIMEOUT.minusNanos(1));
        assertThat(rig.queues().pairNumbers()).hasSize(1);
        pass(LATE);
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.control().alive()).as("id and slot go back").isEmpty();
        assertThat(rig.channel().connection()).isNull();
        assertThat(rig.outcomes().failures()).isEmpty();
        read();
        assertThat(rig.control().started()).isEqualTo(2);
        assertThat(rig.outcomes().failures()).isEmpty();
    }

    @Test
    void timeBeginsAnewWithEachRead() throws Exception {
        read();
        for (int i = 0; i < 5; i++) {
            pass(ReadRig.IDLE_TIMEOUT.minusMinutes(1));
            read();
        }
        assertThat(rig.control().started()).isOne();
        pass(ReadRig.IDLE_TIMEOUT.plus(LATE));
        assertThat(rig.queues().pairNumbers()).isEmpty();
    }

    @Test
    void connectionThatIsUsedStays() throws Exception {
        rig.submit(
                rig.request(rig.slice(0, 100)),
                0,
                ReadRig.IDLE_TIMEOUT.multipliedBy(3).toNanos());
        int pair = rig.connect();
        for (int i = 0; i < 2; i++) {
            pass(ReadRig.IDLE_TIMEOUT);
        }
        assertThat(rig.queues().posted(pair)).as("a read that takes very long").hasSize(1);
        rig.queues().succeed(pair, 1);
        rig.settle();
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void unneededConnectionIsClosed() throws Exception {
        rig.submit(rig.request(rig.slice(0, 100)), 0, Duration.ofSeconds(1).toNanos());
        rig.settle();
        pass(Duration.ofHours(1));
        rig.control().accept();
        rig.settle();
        pass(ReadRig.IDLE_TIMEOUT.minusNanos(1));
        assertThat(rig.queues().pairNumbers()).hasSize(1);
        pass(LATE);
        assertThat(rig.queues().pairNumbers()).isEmpty();
    }
}
