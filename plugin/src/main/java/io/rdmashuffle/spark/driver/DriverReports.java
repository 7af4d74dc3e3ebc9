// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.conf.MetricsConfig;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.ApplicationReports;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.spark.metrics.RegisteredSource;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleApplication;
import io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor;
import io.rdmashuffle.spark.ui.ShuffleTab;
import io.rdmashuffle.store.ShuffleCounter;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.EventLoggingListener;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.ui.SparkUI;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The driver's use of executors' reports: metrics, the data of the user interface, events for Spark's listeners and its
 * event log.
 *
 * <p>When the application ends it asks executors once more, for two seconds at most: on the thread that writes the
 * event log, if there is one, since Spark stops to take events soon after. Closing logs the sums of all executors.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its metrics and listeners; {@link #close()} unregisters them.
 */
public final class DriverReports implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DriverReports.class);

    private final SparkContext context;
    private final ApplicationReports reports;
    private final RegisteredSource source;
    private final Runnable askAll;
    private final SparkListener removals = new Removals();
    private final SparkListener end = new End();

    /**
     * Begins.
     *
     * @param askAll asks executors for their reports and gives them to {@link #take}, within two seconds
     */
    public DriverReports(SparkContext context, ShuffleConfig config, ApplicationInfo info, Runnable askAll) {
        this.context = context;
        this.askAll = askAll;
        ReportStore store = new ReportStore(context.statusStore().store());
        this.reports = new ApplicationReports(
                store,
                report -> context.listenerBus().post(new SparkListenerRdmaShuffleExecutor(report)),
                config.get(MetricsConfig.EVENT_INTERVAL));
        this.source = new RegisteredSource(reports::totals);
        try {
            begin(store, info);
        } catch (RuntimeException | LinkageError e) {
            CloseOnFailure.close(e, this);
            throw e;
        }
    }

    private void begin(ReportStore store, ApplicationInfo info) {
        store.put(info);
        context.listenerBus().post(new SparkListenerRdmaShuffleApplication(info));
        source.ensureRegistered();
        attachTab();
        // Not among the user's listeners, for the reason that DriverEndpoint has.
        context.listenerBus().addToManagementQueue(removals);
        if (context.eventLogger().isDefined()) {
            context.listenerBus().addToEventLogQueue(end);
        } else {
            context.listenerBus().addToManagementQueue(end);
        }
    }

    private void attachTab() {
        try {
            Option<SparkUI> ui = context.ui();
            if (ui.isDefined()) {
                ShuffleTab.attachTo(ui.get());
            }
        } catch (RuntimeException | LinkageError e) {
            LOG.warn("The UI tab of the RDMA shuffle is unavailable", e);
        }
    }

    /** Takes what an executor has reported. */
    public void take(Report report) {
        reports.take(ExecutorReport.of(report, System.currentTimeMillis()));
    }

    /** {@inheritDoc} Logs the sums of all executors, whose own lines are missing where Spark killed them. */
    @Override
    public void close() {
        LOG.info(
                "RDMA shuffle statistics of all executors: {}",
                ShuffleCounter.format(reports.totals().counters().byCounter()));
        source.close();
        context.removeSparkListener(removals);
        context.removeSparkListener(end);
    }

    private final class Removals extends SparkListener {
        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            reports.removed(event.executorId());
        }
    }

    /**
     * Last action of the listener bus, on the thread that writes the event log, which stays open meanwhile, or without
     * a log on Spark's.
     */
    private final class End extends SparkListener {
        @Override
        public void onApplicationEnd(SparkListenerApplicationEnd event) {
            Option<EventLoggingListener> log = context.eventLogger();
            try {
                askAll.run();
                if (log.isDefined()) {
                    // Spark's bus may take no event by now.
                    reports.tellRest(report -> log.get().onOtherEvent(new SparkListenerRdmaShuffleExecutor(report)));
                }
            } catch (RuntimeException e) {
                LOG.warn("The last reports of the RDMA shuffle are missing", e);
            }
        }
    }
}
