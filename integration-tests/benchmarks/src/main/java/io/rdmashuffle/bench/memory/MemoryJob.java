// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Jobs whose tasks hold memory for an operator and for a shuffle's writer at once, in the order in which they run. */
enum MemoryJob {
    /** The window keeps each group in a sorter while it gives out rows. */
    WINDOW("window-200", "Window, Exchange(200)"),
    /** One task sorts several partitions in turn while it writes. */
    COALESCE("coalesce-sort-200", "Sort, Coalesce, Exchange(200)"),
    /** Two sorters feed the join. */
    JOIN("sort-merge-join-200", "SortMergeJoin, Exchange(200)"),
    /** A hash map gives out its groups. */
    AGGREGATE("aggregate-2000", "HashAggregate, Exchange(2000)"),
    /** Objects of half a kilobyte, serialised one by one. */
    KRYO("kryo-rdd-400", "RDD of wide records, Kryo, 400 partitions"),
    /** Nearly all rows in one partition, which is sorted then. */
    ONE_PARTITION("one-partition", "Exchange of one large partition, Sort");

    private final String label;
    private final String description;

    MemoryJob(String label, String description) {
        this.label = label;
        this.description = description;
    }

    /** Returns the name in options, tables and JSON. */
    String label() {
        return label;
    }

    /** Returns a description of its operators. */
    String description() {
        return description;
    }

    static String labels() {
        return Arrays.stream(values()).map(MemoryJob::label).collect(Collectors.joining(", "));
    }

    /**
     * Selects jobs by name or {@code all}, each once and in their own order.
     *
     * @throws IllegalArgumentException for a name that is none; the message lists them
     */
    static List<MemoryJob> select(List<String> wanted) {
        List<String> names = wanted.stream().map(String::strip).toList();
        for (String name : names) {
            if (!name.equals("all") && Arrays.stream(values()).noneMatch(job -> job.label.equals(name))) {
                throw new IllegalArgumentException("--jobs " + name + ": no such job; valid are all, " + labels());
            }
        }
        return Arrays.stream(values())
                .filter(job -> names.contains("all") || names.contains(job.label))
                .toList();
    }
}
