// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * State of one executor: its last report, and whether it still runs. Written to the event log, and to the store of the
 * UI.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param executorId whose report this is; the store finds it by that
 * @param host where the executor runs
 * @param state whether it runs
 * @param timeMillis when it reported, or was lost
 * @param counters values of its counters
 * @param latencies how long its READs have taken, as counts by ranges of time
 * @param paths how it reaches others
 * @param quarantined some of the executors to which a path failed that is not used for a while
 * @param whyNotRdma why it does not use RDMA, in words for the user; empty if it does
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ExecutorReport(
        String executorId,
        String host,
        State state,
        long timeMillis,
        CounterValues counters,
        @JsonProperty("readLatencies") List<Long> latencies,
        List<PathGroup> paths,
        List<String> quarantined,
        String whyNotRdma) {
    /** The {@link #whyNotRdma} of a host without a card, where no setting asks for one. */
    public static final String NO_RDMA_DEVICE = "this machine has no RDMA device";

    /** State of the executor. */
    public enum State {
        RUNNING("running"),
        /** It has said so itself. */
        STOPPED("stopped"),
        /** Spark has removed it, and it has not said that it stopped; the report is the last one before. */
        LOST("lost");

        private final String word;

        State(String word) {
            this.word = word;
        }

        /** Returns its name in the UI. */
        public String word() {
            return word;
        }
    }

    /** Instead of an id, of the executors that are not listed any more. */
    private static final String EARLIER = "earlier ones";

    /** Sets all values; what an older log lacks comes as null. */
    public ExecutorReport {
        executorId = Objects.requireNonNullElse(executorId, "");
        host = Objects.requireNonNullElse(host, "");
        state = Objects.requireNonNullElse(state, State.RUNNING);
        counters = Objects.requireNonNullElse(counters, CounterValues.ZERO);
        latencies = Objects.requireNonNullElse(latencies, List.of());
        paths = Objects.requireNonNullElse(paths, List.of());
        quarantined = Objects.requireNonNullElse(quarantined, List.of());
        whyNotRdma = Objects.requireNonNullElse(whyNotRdma, "");
    }

    /** Returns the current report of an executor. */
    public static ExecutorReport of(Report report, long nowMillis) {
        return new ExecutorReport(
                report.executorId(),
                report.host(),
                report.last() ? State.STOPPED : State.RUNNING,
                nowMillis,
                CounterValues.ofNames(report.counters()),
                report.readLatencies(),
                report.paths(),
                report.quarantined(),
                report.whyNotRdma());
    }

    /** Returns one report of all the executors that have ended and are not listed any more; it has no host. */
    static ExecutorReport ofEarlier(long nowMillis, CounterValues sums, Latencies readLatencies) {
        return new ExecutorReport(
                EARLIER,
                "",
                State.LOST,
                nowMillis,
                sums,
                Arrays.stream(readLatencies.counts()).boxed().toList(),
                List.of(),
                List.of(),
                "");
    }

    /** Returns this report of an executor that is lost. */
    ExecutorReport lost(long nowMillis) {
        return new ExecutorReport(
                executorId, host, State.LOST, nowMillis, counters, latencies, paths, quarantined, whyNotRdma);
    }

    /** Returns whether another report says the same, at whatever time. */
    boolean saysTheSame(ExecutorReport other) {
        return state == other.state
                && counters.equals(other.counters)
                && paths.equals(other.paths)
                && quarantined.equals(other.quarantined)
                && whyNotRdma.equals(other.whyNotRdma);
    }

    @Override
    @KVIndex
    public String executorId() {
        return executorId;
    }

    /** Returns one counter. */
    public long get(ShuffleCounter counter) {
        return counters.get(counter);
    }

    /** Returns the latencies of its READs. */
    public Latencies readLatencies() {
        return Latencies.of(latencies.stream().mapToLong(Number::longValue).toArray());
    }
}
