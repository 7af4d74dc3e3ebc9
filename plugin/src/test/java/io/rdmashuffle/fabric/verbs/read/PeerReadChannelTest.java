// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A channel on a fake device: connecting, posting, completing. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PeerReadChannelTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadRig rig;

    @BeforeEach
    void open() throws InterruptedException {
        rig = new ReadRig(directory, new Random(1));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void assertAllSucceeded(List<ReadRequest> requests) {
        assertThat(rig.outcomes().failures()).isEmpty();
        assertThat(rig.outcomes().successes()).isEqualTo(requests.size());
    }

    /** Completes all that is posted, until nothing more is. */
    private void succeedAll(int pair) {
        rig.settle();
        while (!rig.queues().posted(pair).isEmpty()) {
            rig.queues().succeed(pair, rig.queues().posted(pair).size());
            rig.settle();
        }
    }

    @Test
    void connectsOnFirstUseQueriesTheRegionsAndReads() throws Exception {
        rig.settle();
        assertThat(rig.control().started()).as("before a read").isZero();
        ReadRequest request = rig.request(rig.slice(100, 200), rig.slice(50, 10));
        byte[] target;
        request = rig.submit(request, 0, ReadRig.TIMEOUT_NANOS);
        int pair = rig.connect();
        assertThat(rig.control().started()).isOne();
        assertThat(rig.queues().posted(pair)).hasSize(2).allMatch(FakeQueues.Send::isRead);
        assertThat(rig.queues().posted(pair).get(0).localKey())
                .isEqualTo(rig.rail().localKey(0));
        assertThat(rig.queues().posted(pair).get(0).remoteKey())
                .isEqualTo(rig.rail().table().key(0));
        assertThat(rig.channel().regions().known()).isOne();
        rig.queues().succeed(pair, 2);
        target = TestPools.bytes(request.target().memory().slice(0, 210));
        rig.settle();
        assertAllSucceeded(List.of(request));
        assertThat(target).startsWith(rig.expected(100, 200)).endsWith(rig.expected(50, 10));
        rig.submit(3);
        rig.settle();
        assertThat(rig.queues().posted(pair)).as("without another query").hasSize(3);
        assertThat(rig.control().started()).isOne();
        succeedAll(pair);
    }

    @Test
    void readIsRetriedOnceWhenConnectionsAreRefused() throws Exception {
        List<ReadRequest> requests = rig.submit(3);
        rig.settle();
        rig.control().refuse("refused once");
        rig.settle();
        assertThat(rig.control().hasAttempt()).as("before the pause is over").isFalse();
        assertThat(rig.outcomes().count()).isZero();
        rig.passPause();
        rig.settle();
        rig.control().refuse("refused twice");
        rig.settle();
        assertThat(rig.outcomes().failures())
                .hasSize(requests.size())
                .allSatisfy(failure -> assertThat(failure).hasMessageContaining("refused twice"));
    }

    @Test
    void pauseDoublesWithEachRefusalAndResets() throws Exception {
        for (long pauseMillis : new long[] {50, 100, 200, 400, 800, 1600, 3200, 3200}) {
            rig.submit(1);
            rig.settle();
            rig.control().refuse("refused");
            rig.settle();
            rig.pass(Duration.ofMillis(pauseMillis - 1));
            rig.settle();
            assertThat(rig.control().hasAttempt()).isFalse();
            rig.pass(Duration.ofMillis(1));
            rig.submit(1);
            rig.settle();
            assertThat(rig.control().hasAttempt())
                    .as("after %s ms", pauseMillis)
                    .isTrue();
        }
        int pair = rig.connect();
        succeedAll(pair);
        rig.submit(1);
        rig.settle();
        failOldest(pair, VerbsConstants.IBV_WC_REM_ACCESS_ERR);
        rig.settle();
        rig.passPause();
        rig.settle();
        assertThat(rig.control().hasAttempt()).isTrue();
    }

    private void failOldest(int pair, int status) {
        rig.queues().fail(pair, rig.queues().posted(pair).get(0).id(), status);
    }

    @Test
    void connectionThatComesLateIsUsedAndOneAfterCloseIsNot() throws Exception {
        rig.submit(rig.request(rig.slice(0, 64)), 0, Duration.ofSeconds(1).toNanos());
        rig.settle();
        rig.pass(Duration.ofSeconds(2));
        rig.settle();
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
        int late = rig.control().accept();
        rig.settle();
        List<ReadRequest> requests = rig.submit(1);
        rig.settle();
        rig.respond(late);
        succeedAll(late);
        assertThat(rig.outcomes().successes()).isEqualTo(requests.size());

        failIdle(late);
        rig.submit(1);
        rig.passPause();
        rig.settle();
        rig.channel().execute(() -> rig.channel().close(new ReadFailedException(Reason.CLOSED, "closed")));
        rig.settle();
        int afterClose = rig.control().accept();
        rig.settle();
        assertThat(rig.queues().pairNumbers()).doesNotContain(afterClose);
        assertThat(rig.control().alive()).isEmpty();
    }

    /** Ends the connection while nothing is outstanding. */
    private void failIdle(int pair) {
        assertThat(rig.queues().posted(pair)).isEmpty();
        rig.control().disconnect(rig.control().alive().get(0));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).doesNotContain(pair);
    }

    @Test
    void readsRestartOnAnotherConnection() throws Exception {
        List<ReadRequest> requests = rig.submit(5);
        int pair = rig.connect();
        rig.queues().succeed(pair, 2);
        rig.control().disconnect(rig.control().alive().get(0));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).as("the queue pair is destroyed").isEmpty();
        assertThat(rig.control().closed()).isOne();
        rig.passPause();
        int second = rig.connect();
        succeedAll(second);
        assertAllSucceeded(requests);
    }

    @Test
    void readThatFailsOnTwoConnectionsFails() throws Exception {
        rig.submit(1);
        failOldest(rig.connect(), VerbsConstants.IBV_WC_REM_ACCESS_ERR);
        rig.settle();
        assertThat(rig.outcomes().count()).isZero();
        rig.passPause();
        failOldest(rig.connect(), VerbsConstants.IBV_WC_RETRY_EXC_ERR);
        rig.settle();
        assertThat(rig.outcomes().failures()).singleElement().satisfies(failure -> {
            assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure).hasMessageContaining("executor 7").hasMessageContaining("RETRY");
        });
        assertThat(rig.pool().usage().leases()).as("the source alone").isOne();
    }

    @Test
    void flushesInEveryOrderEndEachReadOnce() throws Exception {
        int permutations = 0;
        for (List<Integer> order : permutations(List.of(0, 1, 2, 3))) {
            List<ReadRequest> requests = rig.submit(4);
            rig.passPause();
            int pair = rig.connect();
            List<FakeQueues.Send> posted = rig.queues().posted(pair);
            for (int index : order) {
                int status = index == order.get(0)
                        ? VerbsConstants.IBV_WC_REM_ACCESS_ERR
                        : VerbsConstants.IBV_WC_WR_FLUSH_ERR;
                rig.queues().fail(pair, posted.get(index).id(), status);
            }
            rig.settle();
            rig.pass(Duration.ofSeconds(4));
            succeedAll(rig.connect());
            permutations++;
            assertThat(requests).allMatch(rig.outcomes()::hasEnded);
            assertThat(rig.outcomes().successes()).isEqualTo(4 * permutations);
            failIdle(rig.queues().pairNumbers().get(0));
        }
        assertThat(permutations).isEqualTo(24);
    }

    private static List<List<Integer>> permutations(List<Integer> of) {
        if (of.isEmpty()) {
            return List.of(List.of());
        }
        List<List<Integer>> all = new ArrayList<>();
        for (Integer first : of) {
            List<Integer> rest = new ArrayList<>(of);
            rest.remove(first);
            for (List<Integer> end : permutations(rest)) {
                List<Integer> whole = new ArrayList<>(List.of(first));
                whole.addAll(end);
                all.add(whole);
            }
        }
        return all;
    }

    @Test
    void successBeforeAnErrorCounts() throws Exception {
        List<ReadRequest> requests = rig.submit(8);
        int pair = rig.connect();
        rig.submit(8);
        rig.settle();
        rig.queues().succeed(pair, 8);
        failOldest(pair, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
        rig.settle();
        assertThat(requests).allMatch(rig.outcomes()::hasEnded);
        assertThat(rig.outcomes().successes()).isEqualTo(8);
        rig.passPause();
        succeedAll(rig.connect());
        assertThat(rig.outcomes().successes()).isEqualTo(16);
    }

    @Test
    void longReadIsSplitWithSelectiveSignaling() throws Exception {
        ReadRequest request = rig.request(rig.slice(0, 9 * ReadRig.MAX_READ_BYTES + 1), rig.slice(5, 6));
        request = rig.submit(request, 0, ReadRig.TIMEOUT_NANOS);
        int pair = rig.connect();
        List<FakeQueues.Send> posted = rig.queues().posted(pair);
        assertThat(posted.stream().map(FakeQueues.Send::length)).endsWith(ReadRig.MAX_READ_BYTES, 1, 6);
        assertThat(posted.stream().map(FakeQueues.Send::signaled))
                .containsExactly(false, false, false, false, false, false, false, true, false, false, true);
        rig.queues().succeed(pair, 10);
        rig.settle();
        assertThat(rig.outcomes().count()).as("before the last piece").isZero();
        rig.queues().succeed(pair, 1);
        rig.settle();
        assertAllSucceeded(List.of(request));
    }

    @Test
    void fullQueueHoldsBackWhatDoesNotFit() throws Exception {
        List<ReadRequest> requests = rig.submit(100);
        int pair = rig.connect();
        assertThat(rig.queues().posted(pair)).as("one place is kept").hasSize(ReadRig.DEPTH - 1);
        succeedAll(pair);
        assertAllSucceeded(requests);
        assertThat(rig.queues().mostPosted(pair)).isEqualTo(ReadRig.DEPTH - 1);
    }

    @Test
    void chainThatIsNotTakenWholeEndsTheConnection() throws Exception {
        List<ReadRequest> requests = rig.submit(3);
        rig.settle();
        int pair = rig.control().accept();
        rig.settle();
        rig.respond(pair);
        rig.queues().failPost(Errno.ENOMEM.number(), 1);
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        rig.queues().failPost(0, 0);
        rig.passPause();
        succeedAll(rig.connect());
        assertAllSucceeded(requests);
    }

    @Test
    void queryThatCannotBePostedEndsTheConnection() throws Exception {
        rig.submit(1);
        rig.settle();
        rig.queues().failPost(Errno.EINVAL.number(), 0);
        rig.control().accept();
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        rig.queues().failPost(0, 0);
        rig.passPause();
        succeedAll(rig.connect());
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void unknownRegionFailsAfterTwoQueries() throws Exception {
        ReadRequest request = rig.request(new RemoteSlice(3, 0, 64));
        rig.submit(request, 0, ReadRig.TIMEOUT_NANOS);
        int pair = rig.connect();
        assertThat(rig.outcomes().count()).as("after one query").isZero();
        rig.respond(pair);
        rig.settle();
        assertThat(rig.outcomes().failures()).singleElement().satisfies(failure -> {
            assertThat(failure.reason()).isEqualTo(Reason.OUT_OF_BOUNDS);
            assertThat(failure).hasMessageContaining("the peer has 1 regions of executor 7");
        });
        succeedAll(pair);
    }

    @Test
    void readOutsideOfARegionFailsAndThoseBehindItDoNot() throws Exception {
        rig.submit(rig.request(new RemoteSlice(0, Long.MAX_VALUE - 10, 64)), 0, ReadRig.TIMEOUT_NANOS);
        rig.submit(2);
        int pair = rig.connect();
        succeedAll(pair);
        assertThat(rig.outcomes().successes()).isEqualTo(2);
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure).hasMessageContaining("is outside the region"));
    }

    /** What a peer reads of a region that is gone: its device breaks the connection, and then the table says it. */
    @Test
    void aRegionThatWasGivenBackFailsItsReadsAndNoOthers() throws Exception {
        Lease low = TestPools.reserve(rig.pool(), Purpose.MAP_OUTPUT, 2 << 20);
        Region high = low.region();
        assertThat(high.id()).isPositive();
        ReadRequest stale = rig.request(new RemoteSlice(high.id(), 0, 64));
        rig.submit(stale, 0, ReadRig.TIMEOUT_NANOS);
        ReadRequest good = rig.submit(1).get(0);
        int pair = rig.connect();
        low.close();
        assertThat(rig.pool().giveBackIdle(Duration.ZERO)).isOne();
        assertThat(rig.rail().table().isAbsent(high.id())).isTrue();
        failOldest(pair, VerbsConstants.IBV_WC_REM_ACCESS_ERR);
        rig.settle();
        rig.passPause();
        int second = rig.connect();
        succeedAll(second);
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.REGION_ABSENT));
        assertThat(rig.outcomes().successes()).isOne();
        assertThat(good.target().lengthBytes()).isPositive();
        assertThat(rig.channel().regions().known())
                .isEqualTo(rig.pool().regions().size());
    }

    @Test
    void manyRegionsAreQueriedInSeveralMessages() throws Exception {
        RegionTable table = rig.rail().table();
        while (table.bound() < 70) {
            table = table.with(table.bound(), 4096L * table.bound(), 4096, table.bound());
        }
        rig.submit(rig.request(new RemoteSlice(69, 0, 64)), 0, ReadRig.TIMEOUT_NANOS);
        rig.settle();
        int pair = rig.control().accept();
        for (int known : new int[] {32, 64, 70}) {
            rig.settle();
            rig.respond(pair, table);
            rig.turn();
            assertThat(rig.channel().regions().known()).isEqualTo(known);
        }
        rig.settle();
        assertThat(rig.queues().posted(pair)).singleElement().satisfies(read -> {
            assertThat(read.remote()).isEqualTo(4096L * 69);
            assertThat(read.remoteKey()).isEqualTo(69);
        });
    }

    /** A pool that has released regions for days: the cost of queries depends on existing regions only. */
    @Test
    void regionsWithHighIdsAreFoundByOneQuery() throws Exception {
        int last = Region.FIRST_ON_DISK - 1;
        RegionTable table = RegionTable.EMPTY
                .with(0, 4096, 4096, 1)
                .with(last - 1, 8192, 4096, 2)
                .with(last, 12_288, 4096, 3);
        rig.submit(rig.request(new RemoteSlice(last, 0, 64)), 0, ReadRig.TIMEOUT_NANOS);
        rig.settle();
        int pair = rig.control().accept();
        rig.settle();
        rig.respond(pair, table);
        rig.turn();
        assertThat(rig.channel().regions().known()).isEqualTo(3);
        rig.settle();
        assertThat(rig.queues().posted(pair))
                .singleElement()
                .satisfies(read -> assertThat(read.remoteKey()).isEqualTo(3));
    }

    @Test
    void damagedResponseIsDroppedAndAskedForAgain() throws Exception {
        rig.submit(1);
        rig.settle();
        int pair = rig.control().accept();
        rig.settle();
        rig.queues().succeed(pair, 1);
        assertThat(rig.queues().deliver(pair, new byte[40])).isTrue();
        rig.settle();
        assertThat(rig.channel().regions().known()).isZero();
        rig.respond(pair);
        succeedAll(pair);
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void readsAfterRegionsWereForgottenQueryAgain() throws Exception {
        rig.submit(1);
        int pair = rig.connect();
        succeedAll(pair);
        rig.channel().regions().forget();
        rig.submit(1);
        rig.settle();
        assertThat(rig.queues().posted(pair)).singleElement().matches(send -> !send.isRead());
        rig.respond(pair);
        succeedAll(pair);
        assertThat(rig.outcomes().successes()).isEqualTo(2);
    }
}
