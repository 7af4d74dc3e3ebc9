// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Job in a local cluster that reads a shuffle twice, and kills an executor with outputs of it in between.
 *
 * <p><b>Threading:</b> one thread.
 */
final class HeirJob {
    private static final String VICTIM = "0";
    private static final int MAPS = 12;
    private static final int REDUCES = 8;
    private static final long WAIT_SECONDS = 300;
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

    private final SparkSession spark;
    private final JavaSparkContext context;
    private final long rows;

    HeirJob(SparkSession spark, long rows) {
        this.spark = spark;
        this.context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        this.rows = rows;
    }

    /** Signals when the executor has been removed, and when another has come. */
    private static final class Replacement extends SparkListener {
        private final CountDownLatch removed = new CountDownLatch(1);
        private final CountDownLatch added = new CountDownLatch(1);

        @Override
        public void onExecutorAdded(SparkListenerExecutorAdded event) {
            added.countDown();
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            if (event.executorId().equals(VICTIM)) {
                removed.countDown();
            }
        }
    }

    /** Returns the sum of the rows' hash codes. */
    String run() throws InterruptedException, TimeoutException {
        JavaPairRDD<Long, String> shuffled = spark.range(0, rows, 1, MAPS)
                .toJavaRDD()
                .mapToPair(id -> new Tuple2<>(id, Long.toString(id).repeat(10)))
                .partitionBy(new HashPartitioner(REDUCES));
        String first = sum(shuffled);
        replaceExecutor();
        awaitHeir();
        context.setJobGroup("again", "after an executor was killed");
        String second = sum(shuffled);
        context.sc().listenerBus().waitUntilEmpty(TimeUnit.SECONDS.toMillis(WAIT_SECONDS));
        int tasks = Arrays.stream(context.statusTracker().getJobIdsForGroup("again"))
                .flatMap(job ->
                        Arrays.stream(context.statusTracker().getJobInfo(job).stageIds()))
                .mapToObj(context.statusTracker()::getStageInfo)
                .mapToInt(stage -> stage == null ? 0 : stage.numCompletedTasks())
                .sum();
        if (!second.equals(first)) {
            return "failed: " + second + " after " + first;
        }
        return tasks == REDUCES ? first : "failed: " + tasks + " tasks instead of " + REDUCES;
    }

    private static String sum(JavaPairRDD<Long, String> shuffled) {
        return "sum " + shuffled.map(row -> (long) row._2.hashCode()).reduce(Long::sum);
    }

    private static void awaitHeir() throws InterruptedException {
        RdmaShuffleManager manager = (RdmaShuffleManager) SparkEnv.get().shuffleManager();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
        while (manager.statistics(ANSWER_TIMEOUT).total(ShuffleCounter.POOLS_INHERITED) == 0) {
            if (System.nanoTime() - deadline >= 0) {
                throw new IllegalStateException("no executor serves the pool of executor " + VICTIM);
            }
            Thread.sleep(100);
        }
    }

    /** Waits for another executor in its place, too: by then the others know the heir. */
    private void replaceExecutor() throws InterruptedException {
        Replacement replacement = new Replacement();
        SparkContext scala = context.sc();
        scala.addSparkListener(replacement);
        ProcessHandle victim = ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(" --executor-id " + VICTIM + " "))
                .findAny()
                .orElseThrow(() -> new IllegalStateException("no executor " + VICTIM));
        if (!victim.destroyForcibly()
                || !replacement.removed.await(WAIT_SECONDS, TimeUnit.SECONDS)
                || !replacement.added.await(WAIT_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("executor " + VICTIM + " is still there, or no other has come");
        }
        scala.removeSparkListener(replacement);
    }
}
