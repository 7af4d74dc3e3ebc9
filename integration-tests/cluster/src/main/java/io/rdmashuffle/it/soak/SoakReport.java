// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
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

    /** Less than what is planned, since faults and chance move it. */
    private static final double LEAST_SHARE = 0.1;

    /** Of fewer, chance decides: what an executor read in the job in which it was killed is not counted. */
    private static final int ENOUGH_APPLICATIONS = 10;

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

    /**
     * Returns whether enough was tried and nothing went wrong.
     *
     * @param everyWay whether bytes had to go every way, and each at least its least share of them if there were
     *     applications enough
     */
    boolean acceptable(boolean everyWay) {
        return wrong() == 0
                && jobs > 0
                && faults() > 0
                && oneSidedOrLocal() > 0
                && (!everyWay || shares().values().stream().allMatch(share -> share >= leastShare()));
    }

    private double leastShare() {
        return applications < ENOUGH_APPLICATIONS ? 0 : LEAST_SHARE;
    }

    /**
     * Returns which share of all bytes went each way that has to have one. What was copied from the disk tier counts
     * as both.
     */
    Map<String, Double> shares() {
        double total = Math.max(1, PATHS.stream().mapToLong(this::counted).sum());
        long disk = counted(ShuffleCounter.DISK_READ_BYTES);
        long copied = counted(ShuffleCounter.SLAB_BYTES);
        long inPlace = Math.max(0, counted(ShuffleCounter.DIRECT_BYTES) - copied - disk);
        Map<String, Double> shares = new LinkedHashMap<>();
        shares.put("direct in place", inPlace / total);
        shares.put("copied", copied / total);
        shares.put("from the disk tier", disk / total);
        return shares;
    }

    private long counted(ShuffleCounter counter) {
        return counters.getOrDefault(counter.label(), 0L);
    }

    private long oneSidedOrLocal() {
        return counted(ShuffleCounter.LOCAL_BYTES)
                + counted(ShuffleCounter.SHM_BYTES)
                + counted(ShuffleCounter.VERBS_BYTES);
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
        String paths =
                PATHS.stream().map(path -> path.label() + " " + counted(path)).collect(Collectors.joining(", "));
        text.append(
                String.format(Locale.ROOT, "bytes by path, of executors that lived to the end of a job: %s%n", paths));
        String shares = shares().entrySet().stream()
                .map(share -> String.format(Locale.ROOT, "%s %.0f %%", share.getKey(), 100 * share.getValue()))
                .collect(Collectors.joining(", "));
        text.append(
                String.format(Locale.ROOT, "shares of them: %s (least: %.0f %% each)%n", shares, 100 * leastShare()));
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
