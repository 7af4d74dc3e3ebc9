// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.verbs.AsyncEvent;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The loop of a data thread on a fake device: sleeping, waking, ending. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DataThreadTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final FakeRdma rdma = new FakeRdma();
    private ReadRig rig;

    @BeforeEach
    void open() throws InterruptedException {
        rdma.maxCompletions(16);
        rig = new ReadRig(directory, new Random(3), rdma, 64, 1);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Thread start() {
        Thread thread = new Thread(rig.thread(), "rdma-read-test");
        thread.start();
        return thread;
    }

    private void stop(Thread thread) throws InterruptedException {
        rig.thread().stop();
        thread.join(30_000);
        assertThat(thread.isAlive()).isFalse();
    }

    @Test
    void sleepingThreadWakesForReadsAndControlTasks() throws Exception {
        Thread thread = start();
        try {
            eventually().until(() -> rig.queues().armed() > 0);
            List<ReadRequest> requests = rig.submit(3);
            eventually().until(rig.control()::hasAttempt);
            int pair = rig.control().accept();
            eventually().until(() -> !rig.queues().posted(pair).isEmpty());
            rig.respond(pair);
            eventually().until(() -> rig.queues().posted(pair).size() == requests.size());
            rig.queues().succeed(pair, requests.size());
            eventually().until(() -> rig.outcomes().successes() == requests.size());
        } finally {
            stop(thread);
        }
        assertThat(rig.thread().isAlive()).isFalse();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.thread().work().wakeUps()).isPositive();
    }

    /** An executor that reports while its counters change has nothing to report. */
    @Test
    void anIdleThreadCountsNothing() throws Exception {
        Thread thread = start();
        try {
            eventually().until(() -> rig.queues().armed() > 2);
        } finally {
            stop(thread);
        }
        assertThat(rig.thread().work().wakeUps()).isLessThanOrEqualTo(1); // by the end
    }

    @Test
    void workIsCounted() throws Exception {
        assertThat(rig.thread().work().lanes()).isZero();
        List<ReadRequest> requests = rig.submit(3);
        int pair = rig.connect();
        rig.queues().succeed(pair, requests.size());
        rig.settle();
        FabricWork work = rig.thread().work();
        assertThat(work.reads()).isEqualTo(3);
        assertThat(work.doorbells()).as("a query and a chain").isEqualTo(2);
        assertThat(work.completions())
                .as("of the query, its response and the READs")
                .isBetween(3L, 5L);
        assertThat(work.lanes()).isOne();
    }

    @Test
    void stopFailsWhatIsOutstandingWaitingAndSubmittedLater() throws Exception {
        List<ReadRequest> requests = rig.submit(20);
        rig.connect();
        Thread thread = start();
        stop(thread);
        assertThat(requests).allMatch(rig.outcomes()::hasEnded);
        rig.submit(1);
        assertThat(rig.outcomes().failures())
                .hasSize(21)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.CLOSED));
    }

    @Test
    void connectionThatComesAfterTheEndIsClosed() throws Exception {
        rig.submit(1);
        rig.settle();
        stop(start());
        rig.control().accept();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.control().closed()).isOne();
    }

    @Test
    void commandAfterTheEndRunsAtOnce() throws Exception {
        stop(start());
        CountDownLatch ran = new CountDownLatch(1);
        rig.thread().execute(ran::countDown);
        assertThat(ran.getCount()).isZero();
    }

    @Test
    void failureOfTheLoopFailsItsReadsAndTakesNoMore() throws Exception {
        rig.submit(1);
        rig.settle();
        rig.thread().execute(() -> {
            throw new IllegalStateException("injected");
        });
        Thread thread = start();
        thread.join(30_000);
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.CLOSED));
        assertThat(rig.thread().isAlive()).isFalse();
    }

    @Test
    void noMoreIsPostedThanTheCompletionQueueHolds() throws Exception {
        List<ReadRequest> requests = rig.submit(40);
        int pair = rig.connect();
        assertThat(rig.queues().mostPosted(pair)).as("half of 16 entries").isEqualTo(8);
        while (rig.outcomes().count() < requests.size()) {
            rig.queues().succeed(pair, rig.queues().posted(pair).size());
            rig.settle();
        }
        assertThat(rig.queues().mostPosted(pair)).isEqualTo(8);
    }

    @Test
    void deviceEventEndsTheConnectionThatItIsAbout() throws Exception {
        rig.submit(1);
        int pair = rig.connect();
        long handle = rig.queues().handleOf(pair);
        rig.thread().deviceEvent(new AsyncEvent(AsyncEvent.Type.QUEUE_PAIR_FATAL, "of another", handle + 1, 1));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).containsExactly(pair);
        rig.thread().deviceEvent(new AsyncEvent(AsyncEvent.Type.QUEUE_PAIR_FATAL, "fatal", handle, 1));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.outcomes().count()).as("the read starts again").isZero();
    }

    @Test
    void completionsLeftOverFromAClosedQueuePairAreIgnored() throws Exception {
        rig.submit(2);
        int pair = rig.connect();
        long id = rig.queues().posted(pair).get(0).id();
        rig.control().disconnect(rig.control().alive().get(0));
        rig.queues().fail(pair, id, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
        rig.settle();
        rig.passPause();
        int second = rig.connect();
        rig.queues().fail(second, id, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
        rig.settle();
        assertThat(rig.queues().pairNumbers())
                .as("the old id means nothing here")
                .containsExactly(second);
        rig.queues().succeed(second, 2);
        rig.settle();
        assertThat(rig.outcomes().successes()).isEqualTo(2);
    }
}
