// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import io.rdmashuffle.bench.jobs.BenchJob.Kind;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** All cases, and how users name some of them. */
public final class CaseCatalogue {
    private static final int SMALL_ROW = 100;
    private static final int LARGE_ROW = 1_000;

    /** In the order in which they run. */
    public static final List<BenchCase> ALL = List.of(
            repartition(64, SMALL_ROW, "100B"),
            repartition(400, SMALL_ROW, "100B"),
            repartition(2_000, SMALL_ROW, "100B"),
            repartition(64, LARGE_ROW, "1KB"),
            repartition(400, LARGE_ROW, "1KB"),
            repartition(2_000, LARGE_ROW, "1KB"),
            new BenchCase("groupBy-400", Kind.GROUP_BY, 400, 0, 1),
            new BenchCase("join-400", Kind.JOIN, 400, SMALL_ROW, 1),
            new BenchCase("terasort-400", Kind.TERASORT, 400, 90, 1),
            new BenchCase("reduceByKey-400", Kind.REDUCE_BY_KEY, 400, 0, 1),
            new BenchCase("skew-400", Kind.SKEW, 400, SMALL_ROW, 1));

    private CaseCatalogue() {}

    private static BenchCase repartition(int partitions, int payloadBytes, String size) {
        return new BenchCase(
                "repartition-" + partitions + "-" + size,
                Kind.REPARTITION,
                partitions,
                payloadBytes,
                (double) SMALL_ROW / payloadBytes);
    }

    static String names() {
        return ALL.stream().map(BenchCase::name).collect(Collectors.joining(", "));
    }

    /**
     * Selects cases, in the catalogue's order and each once: by name, by the beginning of names, by a pattern with
     * {@code *} and {@code ?}, or {@code all}.
     *
     * @throws IllegalArgumentException if one selects nothing; the message lists the names
     */
    public static List<BenchCase> select(List<String> wanted) {
        for (String written : wanted) {
            if (ALL.stream().noneMatch(known -> selects(written, known))) {
                throw new IllegalArgumentException("--cases " + written + ": no such case; valid are all, " + names()
                        + ", the beginning of one, or a" + " pattern with * and ?");
            }
        }
        return ALL.stream()
                .filter(known -> wanted.stream().anyMatch(written -> selects(written, known)))
                .toList();
    }

    private static boolean selects(String written, BenchCase known) {
        String wanted = written.strip();
        if (wanted.isEmpty()) {
            return false;
        }
        if (wanted.equals("all") || ALL.stream().anyMatch(other -> other.name().equals(wanted))) {
            return wanted.equals("all") || wanted.equals(known.name());
        }
        if (wanted.contains("*") || wanted.contains("?")) {
            String pattern = Pattern.quote(wanted).replace("*", "\\E.*\\Q").replace("?", "\\E.\\Q");
            return known.name().matches(pattern);
        }
        return known.name().startsWith(wanted);
    }
}
