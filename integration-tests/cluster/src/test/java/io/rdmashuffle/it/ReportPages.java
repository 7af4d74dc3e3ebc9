// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.history.FsHistoryProvider;
import org.apache.spark.deploy.history.HistoryServer;
import org.apache.spark.deploy.history.HistoryServer$;

/** The tab "RDMA shuffle" and its numbers, for tests that look at it. */
final class ReportPages {
    static final String POOL_KEY = "spark.shuffle.rdma.pool.maxSize";

    /** Counters that are constant once jobs have ended. */
    private static final List<ShuffleCounter> SETTLED = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES,
            ShuffleCounter.POOL_FULL,
            ShuffleCounter.MAP_OUTPUTS_POOLED,
            ShuffleCounter.MAP_OUTPUTS_ON_DISK,
            ShuffleCounter.MAP_OUTPUTS_FILED);

    private static final Pattern NUMBER = Pattern.compile("data-counter=\"(\\w+)\" data-value=\"(-?\\d+)\"");
    private static final String TOTALS = "id=\"rdma-shuffle-totals\"";
    private static final String EXECUTORS = "id=\"rdma-shuffle-executors\"";

    private ReportPages() {}

    /** Returns settings of an application whose pool is too small, with an event log and without a user interface. */
    static Map<String, String> conf(Path pools, Path logs) {
        Map<String, String> conf = new HashMap<>(ShuffleJobs.settings());
        conf.put("spark.shuffle.rdma.pool.directory", pools.toString());
        conf.put(POOL_KEY, "8m");
        conf.put("spark.shuffle.rdma.metrics.interval", "1s");
        conf.put("spark.eventLog.enabled", "true");
        conf.put("spark.eventLog.compress", "false");
        conf.put("spark.eventLog.dir", logs.toUri().toString());
        return conf;
    }

    /** Returns the counters of executors that pages are compared with. */
    static Map<String, Long> counted(ClusterStatistics statistics) {
        Map<String, Long> counted = new HashMap<>();
        SETTLED.forEach(counter -> counted.put(counter.label(), statistics.total(counter)));
        return counted;
    }

    /** Returns the same of the table of totals; -1 for what a page lacks. */
    static Map<String, Long> totals(String page) {
        int from = page.indexOf(TOTALS);
        int to = page.indexOf(EXECUTORS);
        return sums(from < 0 || to < from ? "" : page.substring(from, to));
    }

    /** Returns the same as sums of the table of executors. */
    static Map<String, Long> sumsOfExecutors(String page) {
        int from = page.indexOf(EXECUTORS);
        return sums(from < 0 ? "" : page.substring(from));
    }

    private static Map<String, Long> sums(String markup) {
        Map<String, Long> all = new HashMap<>();
        Matcher numbers = NUMBER.matcher(markup);
        while (numbers.find()) {
            all.merge(numbers.group(1), Long.parseLong(numbers.group(2)), Long::sum);
        }
        Map<String, Long> settled = new HashMap<>();
        SETTLED.forEach(counter -> settled.put(counter.label(), all.getOrDefault(counter.label(), -1L)));
        return settled;
    }

    /** Where the tab of an application is while it runs. */
    static String live(String userInterface) {
        return userInterface + "/rdmashuffle/";
    }

    /** A history server of a folder of event logs. */
    static final class History implements AutoCloseable {
        private final HistoryServer server;

        History(Path logs) {
            SparkConf conf = new SparkConf(false)
                    .set("spark.history.fs.logDirectory", logs.toUri().toString())
                    .set("spark.history.fs.update.interval", "1s");
            FsHistoryProvider provider = new FsHistoryProvider(conf);
            this.server = new HistoryServer(conf, provider, HistoryServer$.MODULE$.createSecurityManager(conf), 0);
            server.bind();
            provider.start();
        }

        String tab(String applicationId) {
            return "http://localhost:" + server.boundPort() + "/history/" + applicationId + "/rdmashuffle/";
        }

        @Override
        public void close() {
            server.stop();
        }
    }
}
