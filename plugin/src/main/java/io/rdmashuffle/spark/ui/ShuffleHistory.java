// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleApplication;
import io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Seq;

/**
 * Plugin of the history server with the tab, found by its {@code ServiceLoader} when the jar is on its class path.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ShuffleHistory implements AppHistoryServerPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(ShuffleHistory.class);

    /** {@inheritDoc} The type of the result is that of Scala 2.13, and one that 2.12 takes for its own. */
    @Override
    public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
        return ScalaCollections.list(List.of(new Replay(new ReportStore(store))));
    }

    @Override
    public void setupUI(SparkUI ui) {
        try {
            if (!new ReportStore(ui.store().store()).isEmpty()) {
                ShuffleTab.attachTo(ui);
            }
        } catch (RuntimeException | LinkageError e) {
            LOG.warn("No tab of the RDMA shuffle for this application", e);
        }
    }

    @Override
    public int displayOrder() {
        return 100;
    }

    /** Replay of the event log to the store. */
    private static final class Replay extends SparkListener {
        private final ReportStore store;

        Replay(ReportStore store) {
            this.store = store;
        }

        @Override
        public void onOtherEvent(SparkListenerEvent event) {
            if (event instanceof SparkListenerRdmaShuffleExecutor executor) {
                store.put(executor.report());
            } else if (event instanceof SparkListenerRdmaShuffleApplication application) {
                store.put(application.info());
            }
        }
    }
}
