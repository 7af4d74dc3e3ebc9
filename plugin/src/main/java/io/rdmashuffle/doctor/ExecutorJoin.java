// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.spark.RdmaShuffleManager;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.storage.BlockManagerId;

/**
 * Task of the first round: joins its executor to the others, offers blocks to them, and holds its place so that the
 * other tasks go to other executors.
 *
 * <p><b>Threading:</b> immutable; called on task threads.
 */
record ExecutorJoin() implements Function<Integer, BlockManagerId> {
    private static final long serialVersionUID = 1L;

    /** Long enough for the scheduler to have offered every executor a task. */
    private static final long HELD_MILLIS = 300;

    @Override
    public BlockManagerId call(Integer task) throws Exception {
        long begun = System.nanoTime();
        SparkEnv env = SparkEnv.get();
        ((RdmaShuffleManager) env.shuffleManager()).probe(List.of());
        NettyProbe.offer(env);
        hold(begun);
        return env.blockManager().blockManagerId();
    }

    /** Waits for the rest of a task's minimum duration. */
    static void hold(long begun) throws InterruptedException {
        long left = HELD_MILLIS - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        if (left > 0) {
            Thread.sleep(left);
        }
    }
}
