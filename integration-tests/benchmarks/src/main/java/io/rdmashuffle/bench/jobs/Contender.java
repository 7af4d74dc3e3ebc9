// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

/** Who takes part in a comparison, in the order in which they run. */
public enum Contender {
    /** Spark's sort shuffle, its files on disk. */
    SORT_DISK("sort-disk"),
    /** Spark's sort shuffle, its files in a tmpfs. */
    SORT_TMPFS("sort-tmpfs"),
    /** Our shuffle; what it spills goes to disk. */
    OURS("ours");

    private final String label;

    Contender(String label) {
        this.label = label;
    }

    /** Returns the name in tables, in JSON and of files. */
    public String label() {
        return label;
    }
}
