// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Result of a soak.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SoakReport {
    private static final List<ShuffleCounter> PATHS = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);

    /** Minimum share of each path; below the plan, because faults and chance affect it. */
    private static final double LEAST_SHARE = 0.25;

    /** Of shorter runs chance decides: what an executor read in the job in which it was killed is not counted. */
    private static final Duration LONG_RUN = Duration.ofMinutes(20);

    private final double leastShare;
    private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
    private final Map<String, Long> counters = new TreeMap<>();
    private final List<String> differences = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private final List<String> leaks = new ArrayList<>();
    private long inPlaceBytes;
    private int applications;
    private int jobs;

    /**
     * Begins one.
     *
     * @param length of the run, which decides whether each way must have its least share
     * @param everyWay whether bytes have to go every way; false where a fabric was asked for
     */
    SoakReport(Duration length, boolean everyWay) {
        this.leastShare = everyWay && length.compareTo(LONG_RUN) >= 0 ? LEAST_SHARE : 0;
    }

    void applicationEnded(Map<Fault, Integer> injected) {
        applications++;
        injected.forEach((fault, count) -> faults.merge(fault, count, Integer::sum));
    }

    void compared() {
        jobs++;
    }

    /** Adds the bytes of one application. */
    void moved(Map<String, Long> byLabel) {
        byLabel.forEach((label, value) -> counters.merge(label, value, Long::sum));
        // Copies from the disk tier are subtracted twice, so this is a lower bound.
        inPlaceBytes += Math.max(
                0,
                counted(byLabel, ShuffleCounter.DIRECT_BYTES)
                        - counted(byLabel, ShuffleCounter.FETCH_BATCH_BYTES)
                        - counted(byLabel, ShuffleCounter.DISK_READ_BYTES));
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

    /** Returns whether enough was tried, bytes went the ways they had to go, and nothing went wrong. */
    boolean acceptable() {
        return wrong() == 0
                && jobs > 0
                && faults() > 0
                && oneSidedOrLocal() > 0
                && belowLeastShare().isEmpty();
    }

    /** Returns the ways that have less than they must have; none in a short run. */
    List<Way> belowLeastShare() {
        Map<Way, Double> shares = shares();
        return Way.OWED.stream()
                .filter(way -> shares.getOrDefault(way, 0.0) < leastShare)
                .toList();
    }

    /**
     * Returns the share of all bytes of each required path. Copies from the disk tier count as both.
     */
    Map<Way, Double> shares() {
        double total = Math.max(1, PATHS.stream().mapToLong(this::counted).sum());
        Map<Way, Double> shares = new EnumMap<>(Way.class);
        shares.put(Way.IN_PLACE, inPlaceBytes / total);
        shares.put(Way.COPIED, counted(ShuffleCounter.FETCH_BATCH_BYTES) / total);
        shares.put(Way.ON_DISK, counted(ShuffleCounter.DISK_READ_BYTES) / total);
        return shares;
    }

    private static long counted(Map<String, Long> byLabel, ShuffleCounter counter) {
        return byLabel.getOrDefault(counter.label(), 0L);
    }

    private long counted(ShuffleCounter counter) {
        return counted(counters, counter);
    }

    private long oneSidedOrLocal() {
        return counted(ShuffleCounter.LOCAL_BYTES)
                + counted(ShuffleCounter.SHM_BYTES)
                + counted(ShuffleCounter.VERBS_BYTES)
                + counted(ShuffleCounter.TCP_BYTES);
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
                .map(share ->
                        String.format(Locale.ROOT, "%s %.0f %%", share.getKey().label(), 100 * share.getValue()))
                .collect(Collectors.joining(", "));
        text.append(String.format(Locale.ROOT, "shares of them: %s (least: %.0f %% each)%n", shares, 100 * leastShare));
        belowLeastShare()
                .forEach(way -> text.append("BELOW ITS LEAST SHARE ")
                        .append(way.label())
                        .append('\n'));
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
