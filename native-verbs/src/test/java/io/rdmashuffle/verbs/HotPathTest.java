// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Posting and polling make no garbage. */
@Tag("rdma")
@Timeout(300)
@ExtendWith(LeakCheck.class)
class HotPathTest {
    private static final int BATCH = 8;
    private static final int WARM_UP = 300;
    private static final int ROUNDS = 500;

    @Test
    void readsMakeNoGarbage() {
        try (Loopback loopback = Loopback.connect();
                SendRequests chain = new SendRequests(BATCH, 1);
                WorkCompletions completions = new WorkCompletions(BATCH)) {
            Memory memory = Memory.of(loopback.domain, 8192);
            for (int i = 0; i < WARM_UP; i++) {
                reads(loopback, memory, chain, completions);
            }
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadAllocatedBytes();
            assertThat(before).as("allocation is measured").isPositive();
            before = threads.getCurrentThreadAllocatedBytes();
            long polls = 0;
            for (int i = 0; i < ROUNDS; i++) {
                polls += reads(loopback, memory, chain, completions);
            }
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            System.out.println(ROUNDS * BATCH + " READs, " + polls + " polls: " + allocated + " bytes allocated");
            // The measurement itself may allocate; one object per READ would be 64,000 bytes and more.
            assertThat(allocated).isLessThan(1024);
            memory.close();
        }
    }

    private static long reads(Loopback loopback, Memory memory, SendRequests chain, WorkCompletions completions) {
        chain.clear();
        for (int i = 0; i < BATCH; i++) {
            chain.read(i, memory.at(0), 64, memory.localKey(), memory.at(4096), memory.remoteKey(), true);
        }
        if (loopback.client.post(chain) != BATCH) {
            throw new AssertionError("the queue is full");
        }
        long polls = 0;
        for (int done = 0; done < BATCH; polls++) {
            int count = loopback.clientQueue.poll(completions);
            for (int i = 0; i < count; i++) {
                if (!completions.succeeded(i)) {
                    throw new AssertionError("a READ failed");
                }
            }
            done += count;
        }
        return polls;
    }
}
