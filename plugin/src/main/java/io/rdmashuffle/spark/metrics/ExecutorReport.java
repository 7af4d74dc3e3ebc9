// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * What is known of one executor: its last report, and whether it still runs. Written into the event log, and into the
 * store behind the user interface.
 *
 * <p><b>Threading:</b> immutable.
 */
@JsonAutoDetect(
        fieldVisibility = JsonAutoDetect.Visibility.ANY,
        getterVisibility = JsonAutoDetect.Visibility.NONE,
        isGetterVisibility = JsonAutoDetect.Visibility.NONE)
@JsonIgnoreProperties(ignoreUnknown = true)
public final class ExecutorReport {
    /** Whether the executor runs. */
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

        /** Returns how the user interface calls it. */
        public String word() {
            return word;
        }
    }

    /** Instead of an id, of the executors that are not listed any more. */
    private static final String EARLIER = "earlier ones";

    private final String executorId;
    private final String host;
    private final State state;
    private final long timeMillis;
    private final CounterValues counters;
    private final List<Long> readLatencies;
    private final List<PathGroup> paths;
    private final List<String> quarantined;
    private final String whyNotRdma;

    /** Takes all values; what an older log lacks comes as null. */
    @JsonCreator
    @SuppressWarnings("NullAway") // Jackson passes null for what is not there.
    ExecutorReport(
            @JsonProperty("executorId") String executorId,
            @JsonProperty("host") String host,
            @JsonProperty("state") State state,
            @JsonProperty("timeMillis") long timeMillis,
            @JsonProperty("counters") CounterValues counters,
            @JsonProperty("readLatencies") List<Long> readLatencies,
            @JsonProperty("paths") List<PathGroup> paths,
            @JsonProperty("quarantined") List<String> quarantined,
            @JsonProperty("whyNotRdma") String whyNotRdma) {
        this.executorId = executorId == null ? "" : executorId;
        this.host = host == null ? "" : host;
        this.state = state == null ? State.RUNNING : state;
        this.timeMillis = timeMillis;
        this.counters = counters == null ? CounterValues.ZERO : counters;
        this.readLatencies = readLatencies == null ? List.of() : readLatencies;
        this.paths = paths == null ? List.of() : paths;
        this.quarantined = quarantined == null ? List.of() : quarantined;
        this.whyNotRdma = whyNotRdma == null ? "" : whyNotRdma;
    }

    /** Returns what an executor has reported now. */
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
                executorId, host, State.LOST, nowMillis, counters, readLatencies, paths, quarantined, whyNotRdma);
    }

    /** Returns whether another report says the same, at whatever time. */
    boolean saysTheSame(ExecutorReport other) {
        return state == other.state
                && counters.equals(other.counters)
                && paths.equals(other.paths)
                && quarantined.equals(other.quarantined)
                && whyNotRdma.equals(other.whyNotRdma);
    }

    /** Returns whose report this is; the store finds it by that. */
    @KVIndex
    public String executorId() {
        return executorId;
    }

    /** Returns where it runs. */
    public String host() {
        return host;
    }

    /** Returns whether it runs. */
    public State state() {
        return state;
    }

    /** Returns when it reported, or was lost. */
    public long timeMillis() {
        return timeMillis;
    }

    /** Returns what it has counted. */
    public CounterValues counters() {
        return counters;
    }

    /** Returns one counter. */
    public long get(ShuffleCounter counter) {
        return counters.get(counter);
    }

    /** Returns how long its READs have taken. */
    public Latencies readLatencies() {
        return Latencies.of(readLatencies.stream().mapToLong(Number::longValue).toArray());
    }

    /** Returns how it reaches others. */
    public List<PathGroup> paths() {
        return paths;
    }

    /** Returns some of the executors that it does not read from one-sidedly for a while. */
    public List<String> quarantined() {
        return quarantined;
    }

    /** Returns why it does not use RDMA, in words for the user; empty if it does. */
    public String whyNotRdma() {
        return whyNotRdma;
    }
}
