// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a soak did and found.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SoakReport {
    private static final List<ShuffleCounter> PATHS = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);

    private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
    private final Map<String, Long> counters = new TreeMap<>();
    private final List<String> differences = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private final List<String> leaks = new ArrayList<>();
    private int applications;
    private int jobs;

    void applicationEnded(Map<Fault, Integer> injected) {
        applications++;
        injected.forEach((fault, count) -> faults.merge(fault, count, Integer::sum));
    }

    void compared() {
        jobs++;
    }

    void moved(Map<String, Long> byLabel) {
        byLabel.forEach((label, value) -> counters.merge(label, value, Long::sum));
    }

    void difference(String what) {
        differences.add(what);
    }

    void failure(String what) {
        failures.add(what);
    }

    void leak(String what) {
        leaks.add(what);
    }

    int jobs() {
        return jobs;
    }

    int faults() {
        return faults.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Returns how many things went wrong. */
    int wrong() {
        return differences.size() + failures.size() + leaks.size();
    }

    /** Returns whether something was tried and nothing went wrong. */
    boolean acceptable() {
        return wrong() == 0 && jobs > 0 && faults() > 0 && oneSidedOrLocal() > 0;
    }

    private long oneSidedOrLocal() {
        return counters.getOrDefault(ShuffleCounter.LOCAL_BYTES.label(), 0L)
                + counters.getOrDefault(ShuffleCounter.SHM_BYTES.label(), 0L)
                + counters.getOrDefault(ShuffleCounter.VERBS_BYTES.label(), 0L);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        differences.forEach(what -> text.append("DIFFERENT ").append(what).append('\n'));
        failures.forEach(what -> text.append("FAILED ").append(what).append('\n'));
        leaks.forEach(what -> text.append("LEAKED ").append(what).append('\n'));
        String kinds = faults.entrySet().stream()
                .map(entry -> entry.getKey().name().toLowerCase(Locale.ROOT) + " " + entry.getValue())
                .collect(Collectors.joining(", "));
        String paths = PATHS.stream()
                .map(path -> path.label() + " " + counters.getOrDefault(path.label(), 0L))
                .collect(Collectors.joining(", "));
        text.append(String.format(Locale.ROOT, "bytes by path, of executors that lived to be asked: %s%n", paths));
        text.append(String.format(
                Locale.ROOT,
                "%d applications, %d jobs compared, %d faults injected (%s), %d differences, %d failures, %d leaks",
                applications,
                jobs,
                faults(),
                kinds,
                differences.size(),
                failures.size(),
                leaks.size()));
        return text.toString();
    }
}
