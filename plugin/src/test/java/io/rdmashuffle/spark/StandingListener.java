// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/**
 * User's listener that blocks at the first event of an executor: Spark delays, and finally drops, events of its queue.
 */
public final class StandingListener extends SparkListener implements AutoCloseable {
    private final CountDownLatch stands = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);

    /** Starts a driver without executors. */
    public static SparkContext driver() {
        return new SparkContext(new SparkConf(false)
                .setMaster("local[1]")
                .setAppName("test")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1"));
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        stand();
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        stand();
    }

    /** Longer than any test: one that passes must not have waited for this. */
    private void stand() {
        stands.countDown();
        try {
            boolean ignored = end.await(10, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until it stands. */
    public void awaitStanding() throws InterruptedException {
        assertThat(stands.await(20, TimeUnit.SECONDS)).isTrue();
    }

    /** Lets it go on. */
    @Override
    public void close() {
        end.countDown();
    }
}
