// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a read costs in garbage, beyond the request that the caller makes. */
@Tag("rdma")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class HotPathTest {
    private static final int OUTSTANDING = 64;
    private static final int READS = 4_000;
    private static final int WARM_UP = READS;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void dataThreadAndCallerMakeNoGarbageForARead() throws Exception {
        try (Node reader = new Node(directory, TestVerbs.open(TestVerbs.settings(8 << 20)));
                Node owner = new Node(directory, TestVerbs.open(TestVerbs.settings(8 << 20)));
                Lease source = TestPools.filled(owner.pool(), 4096, new Random(1));
                Lease target = TestPools.reserve(reader.pool(), Purpose.RECEIVE, 4096);
                Peer peer = reader.connect(owner)) {
            RemoteSlice slice = new RemoteSlice(source.region().id(), source.offset(), 4096);
            List<ReadRequest> requests = new ArrayList<>();
            long deadline = System.nanoTime() + Duration.ofMinutes(5).toNanos();
            Counter counter = new Counter();
            for (int i = 0; i < WARM_UP + READS; i++) {
                requests.add(new ReadRequest(List.of(slice), target, deadline, counter));
            }
            run(peer, requests.subList(0, WARM_UP), counter);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long dataThread = dataThread();
            long dataBefore = threads.getThreadAllocatedBytes(dataThread);
            long callerBefore = threads.getCurrentThreadAllocatedBytes();
            run(peer, requests.subList(WARM_UP, requests.size()), counter);
            double byCaller = (threads.getCurrentThreadAllocatedBytes() - callerBefore) / (double) READS;
            double byDataThread = (threads.getThreadAllocatedBytes(dataThread) - dataBefore) / (double) READS;
            System.out.printf("bytes of garbage per READ: data thread %.2f, caller %.2f%n", byDataThread, byCaller);
            // A sleep of the data thread may box a little; a read must not.
            assertThat(byDataThread).isLessThan(1);
            assertThat(byCaller).isLessThan(1);
        }
    }

    private static long dataThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-read-"))
                .map(Thread::getId)
                .min(Long::compare)
                .orElseThrow();
    }

    private static void run(Peer peer, List<ReadRequest> requests, Counter counter) throws InterruptedException {
        counter.expect(requests.size());
        for (int i = 0; i < requests.size(); i++) {
            // One that waits for room in flight is queued, which makes garbage.
            while (i - (requests.size() - counter.left()) >= OUTSTANDING) {
                Thread.onSpinWait();
            }
            if (!peer.read(requests.get(i))) {
                throw new AssertionError("no room in flight");
            }
        }
        counter.await();
    }

    /** Counts successes and keeps the target, which all requests share: the bytes are the same. */
    private static final class Counter implements ReadRequest.Listener {
        private CountDownLatch left = new CountDownLatch(0);

        void expect(int reads) {
            left = new CountDownLatch(reads);
        }

        long left() {
            return left.getCount();
        }

        void await() throws InterruptedException {
            assertThat(left.await(120, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public void succeeded(ReadRequest request) {
            left.countDown();
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
