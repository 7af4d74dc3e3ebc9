// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.TestReports;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The driver's reports in an application without executors. */
@Tag("unit")
@Timeout(120)
class DriverReportsTest {
    /** A listener of the user's that stands still has Spark keep back, and at last drop, events for all like it. */
    @Test
    void aSlowListenerKeepsNoExecutorRunning() throws Exception {
        SparkConf conf = new SparkConf(false)
                .setMaster("local[1]")
                .setAppName("test")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1");
        SparkContext context = new SparkContext(conf);
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        ApplicationInfo info = new ApplicationInfo("1", "", Map.of(), Map.of());
        DriverReports reports = new DriverReports(context, ShuffleConfig.read(Map.of()), info, () -> {});
        ReportStore store = new ReportStore(context.statusStore().store());
        try {
            context.addSparkListener(new SparkListener() {
                @Override
                public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
                    blocked.countDown();
                    try {
                        boolean ignored = end.await(10, TimeUnit.MINUTES);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }
            });
            reports.take(TestReports.report("9", false, Map.of()));
            context.listenerBus().post(new SparkListenerExecutorRemoved(0, "8", "lost"));
            assertThat(blocked.await(20, TimeUnit.SECONDS)).isTrue();
            context.listenerBus().post(new SparkListenerExecutorRemoved(0, "9", "lost"));
            while (store.reports().get(0).state() != ExecutorReport.State.LOST) {
                Thread.sleep(5);
            }
            assertThat(end.getCount()).as("the listener still stands").isOne();
        } finally {
            end.countDown();
            reports.close();
            context.stop();
        }
    }
}
