// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.util.kvstore.KVStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports in the store of Spark's UI, of a running application or in the history server: the last one of each executor.
 *
 * <p><b>Threading:</b> thread-safe, as the store.
 *
 * @param store Spark's, which closes it
 */
public record ReportStore(KVStore store) {
    private static final Logger LOG = LoggerFactory.getLogger(ReportStore.class);

    /** Keeps a report in place of an earlier one of the same executor. */
    public void put(ExecutorReport report) {
        write(report);
    }

    /** Stores the application's properties. */
    public void put(ApplicationInfo info) {
        write(info);
    }

    private void write(Object value) {
        try {
            store.write(value);
        } catch (Exception e) {
            // Closed with the application, or its disk is full.
            LOG.debug("Spark's store of the user interface does not take a report", e);
        }
    }

    /** Drops the report of an executor. */
    void remove(String executorId) {
        try {
            store.delete(ExecutorReport.class, executorId);
        } catch (Exception e) {
            LOG.debug("Spark's store of the user interface does not drop a report", e);
        }
    }

    /** Returns whether there is anything. */
    public boolean isEmpty() {
        return application().isEmpty() && reports().isEmpty();
    }

    /** Returns the application's properties. */
    public Optional<ApplicationInfo> application() {
        try {
            return Optional.of(store.read(ApplicationInfo.class, ApplicationInfo.KEY));
        } catch (NoSuchElementException e) {
            return Optional.empty();
        } catch (Exception e) {
            LOG.warn("Cannot read the properties of an application's RDMA shuffle", e);
            return Optional.empty();
        }
    }

    /** Returns all reports, by executor id, numbers in the order of numbers. */
    public List<ExecutorReport> reports() {
        List<ExecutorReport> reports = new ArrayList<>();
        try {
            store.view(ExecutorReport.class).forEach(reports::add);
        } catch (Exception e) {
            LOG.warn("Cannot read the reports of an application's RDMA shuffle", e);
        }
        reports.sort(Comparator.comparingInt(
                        (ExecutorReport report) -> report.executorId().length())
                .thenComparing(ExecutorReport::executorId));
        return reports;
    }
}
