// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.connect.StagingService.Outcome;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of one peer's staging requests with a manual clock: every lease is released once, whatever the peer does. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class StagedRequestsTest {
    private static final RemoteSlice RANGE = new RemoteSlice(Region.FIRST_ON_DISK, 4096, 100);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    private final ManualStaging staging = new ManualStaging();
    private final List<String> answers = new ArrayList<>();
    private Pool pool;
    private StagedRequests requests;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        Region region = pool.regions().get(0);
        RegionTable table = RegionTable.EMPTY.with(
                0, region.memory().address(), region.memory().lengthBytes(), 9);
        requests = new StagedRequests(
                staging,
                null,
                Runnable::run,
                clock::get,
                () -> table,
                answer -> answers.add(answer.id()
                        + (answer.status() == Status.OK
                                ? " staged " + answer.bytes() + " for " + answer.withinMillis()
                                : " " + answer.status())));
    }

    @AfterEach
    void close() {
        assertThat(pool.usage().leases()).as("leases that did not come back").isZero();
        pool.close();
    }

    private void ask(int id) {
        requests.ask(new Question(id, List.of(RANGE)));
    }

    private void stageOldest() throws InterruptedException {
        staging.end(new Outcome(Status.OK, TestPools.reserve(pool, Purpose.STAGING, 100), 100));
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
        requests.expire();
    }

    @Test
    void staysStagedUntilTheRelease() throws Exception {
        ask(7);
        assertThat(staging.oldest()).containsExactly(RANGE);
        assertThat(answers).isEmpty();
        stageOldest();
        assertThat(answers).containsExactly("7 staged 100 for 30000");
        pass(ManualStaging.READ_WITHIN);
        assertThat(staging.returned()).as("while the reader may read").isEmpty();
        requests.release(7);
        requests.release(7);
        assertThat(staging.returned()).hasSize(1);
    }

    @Test
    void unreleasedBytesAreReclaimedAfterTheTimeout() throws Exception {
        ask(1);
        stageOldest();
        pass(ManualStaging.READ_WITHIN.multipliedBy(2).minusNanos(1));
        assertThat(staging.returned()).isEmpty();
        pass(Duration.ofNanos(1));
        assertThat(staging.returned()).hasSize(1);
        requests.release(1);
        ask(1);
        stageOldest();
        requests.end();
        assertThat(staging.returned()).hasSize(2);
    }

    @Test
    void readerThatIsGoneWhileItsBytesAreReadGetsNone() throws Exception {
        ask(1);
        ask(2);
        stageOldest();
        requests.end();
        assertThat(staging.returned()).hasSize(1);
        answers.clear();
        stageOldest();
        assertThat(staging.returned()).hasSize(2);
        assertThat(answers).isEmpty();
        ask(3);
        staging.end(Outcome.refusal(Status.UNREADABLE));
        assertThat(answers).isEmpty();
    }

    @Test
    void releaseThatOvertakesTheOutcomeIsKept() throws Exception {
        ask(1);
        requests.release(1);
        stageOldest();
        assertThat(staging.returned()).hasSize(1);
        assertThat(answers).isEmpty();
    }

    @Test
    void refusalsAreToldAndLeaveRoomForOthers() {
        for (Status status : List.of(Status.NO_ROOM, Status.UNREADABLE, Status.UNKNOWN)) {
            answers.clear();
            ask(5);
            staging.end(Outcome.refusal(status));
            assertThat(answers).containsExactly("5 " + status);
        }
    }

    @Test
    void peerHasABoundedNumberOfRequests() throws Exception {
        for (int id = 0; id <= StagedRequests.MAX_REQUESTS; id++) {
            ask(id);
        }
        assertThat(answers).containsExactly(StagedRequests.MAX_REQUESTS + " NO_ROOM");
        assertThat(staging.waiting()).isEqualTo(StagedRequests.MAX_REQUESTS);
        while (staging.waiting() > 0) {
            stageOldest();
        }
        ask(99);
        assertThat(answers).endsWith("99 NO_ROOM");
        requests.release(2);
        ask(100);
        assertThat(staging.waiting()).isOne();
        staging.end(Outcome.refusal(Status.UNKNOWN));
        requests.end();
    }

    @Test
    void fullQueueIsNoRoom() {
        staging.full(true);
        ask(1);
        assertThat(answers).containsExactly("1 NO_ROOM");
        staging.full(false);
        ask(1);
        assertThat(staging.waiting()).isOne();
        staging.end(Outcome.refusal(Status.UNKNOWN));
    }

    @Test
    void questionThatCannotBeIsUnknown() throws Exception {
        requests.ask(new Question(1, List.of()));
        assertThat(answers).containsExactly("1 UNKNOWN");
        ask(2);
        ask(2);
        assertThat(answers).endsWith("2 UNKNOWN");
        assertThat(staging.waiting()).isOne();
        stageOldest();
        assertThat(answers).endsWith("2 staged 100 for 30000");
        requests.end();
    }
}
