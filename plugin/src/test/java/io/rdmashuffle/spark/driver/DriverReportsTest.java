// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static io.rdmashuffle.lifecycle.Eventually.eventually;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.StandingListener;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.TestReports;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The driver's reports in an application without executors. */
@Tag("unit")
@Timeout(120)
class DriverReportsTest {
    @Test
    void aSlowListenerKeepsNoExecutorRunning() throws Exception {
        SparkContext context = StandingListener.driver();
        ApplicationInfo info = new ApplicationInfo("1", "", Map.of(), Map.of());
        ReportStore store = new ReportStore(context.statusStore().store());
        try (DriverReports reports = new DriverReports(context, ShuffleConfig.read(Map.of()), info, () -> {});
                StandingListener standing = new StandingListener()) {
            context.addSparkListener(standing);
            reports.take(TestReports.report("9", false, Map.of()));
            context.listenerBus().post(new SparkListenerExecutorRemoved(0, "8", "lost"));
            standing.awaitStanding();
            context.listenerBus().post(new SparkListenerExecutorRemoved(0, "9", "lost"));
            eventually().until(() -> store.reports().get(0).state() == ExecutorReport.State.LOST);
        } finally {
            context.stop();
        }
    }
}
