// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.reports;

import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.ApplicationReports;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.ShuffleSource;
import io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor;
import io.rdmashuffle.spark.ui.ReportPage;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.util.JsonProtocol;
import org.apache.spark.util.kvstore.InMemoryStore;

/**
 * A driver, and the messages of its executors.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SimulatedReports {
    private static final int LATENCIES = 40;
    private static final String REASON = "no RDMA device: /sys/class/infiniband is empty";

    private final RegistryCodec codec = new RegistryCodec();
    private final ReportStore store = new ReportStore(new InMemoryStore());
    private final ApplicationReports reports = new ApplicationReports(store, told -> {}, Duration.ofMinutes(1));
    private final List<byte[]> messages = new ArrayList<>();
    private final List<byte[]> later = new ArrayList<>();
    private boolean odd;
    private long bytesOfAnEvent;
    private long answers;
    private long pageChars;

    SimulatedReports(int executors) {
        Random random = new Random(7);
        for (int i = 0; i < executors; i++) {
            messages.add(codec.encode(report(i, executors, random)));
            later.add(codec.encode(report(i, executors, random)));
        }
        store.put(new ApplicationInfo("1", "", Map.of(), Map.of()));
    }

    private static Report report(int id, int executors, Random random) {
        Map<String, Long> counters = new HashMap<>();
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            counters.put(counter.name(), (long) random.nextInt(Integer.MAX_VALUE));
        }
        List<String> others =
                IntStream.range(0, executors).mapToObj(Integer::toString).toList();
        return new Report(
                "" + id,
                "worker-" + id / 4 + ".example.com",
                Occasion.USUAL,
                counters,
                random.longs(LATENCIES, 0, 1_000_000).boxed().toList(),
                List.of(PathGroup.of("shm", others.subList(0, Math.min(3, executors))), PathGroup.of("verbs", others)),
                List.of(),
                REASON);
    }

    /** Reports once for each executor. */
    void round() {
        odd = !odd;
        for (byte[] message : odd ? messages : later) {
            if (codec.decode(message) instanceof Report report) {
                reports.take(ExecutorReport.of(report, System.currentTimeMillis()));
            }
            answers += codec.encode(new Taken()).length;
        }
    }

    /** Writes an event for each executor. */
    void events() {
        long bytes = 0;
        for (ExecutorReport report : store.reports()) {
            bytes += JsonProtocol.sparkEventToJsonString(new SparkListenerRdmaShuffleExecutor(report))
                    .length();
        }
        bytesOfAnEvent = bytes / messages.size();
    }

    /** Reads all metrics as a sink does. */
    void metrics() {
        ShuffleSource source = new ShuffleSource(reports::totals);
        source.metricRegistry().getGauges().values().forEach(gauge -> gauge.getValue());
    }

    /** Makes the tab. */
    void page() {
        pageChars = new ReportPage(store).get().length();
    }

    /** Returns the bytes of all messages that are kept here, which a driver would not. */
    long bytesOfMessages() {
        return messages.stream().mapToLong(message -> message.length).sum();
    }

    /** Returns the bytes of all answers. */
    long bytesOfAnswers() {
        return answers;
    }

    long bytesOfAnEvent() {
        return bytesOfAnEvent;
    }

    long pageChars() {
        return pageChars;
    }
}
