// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

/** Who takes part in a comparison, in the order in which they run. */
enum Contender {
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
    String label() {
        return label;
    }
}
