// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Shuffle configurations that a benchmark compares. */
public enum Configuration {
    /** Spark's sort shuffle at its defaults, its files on disk. */
    SORT_DISK("sort-disk", false),
    /** Spark's sort shuffle, its files in a tmpfs. */
    SORT_TMPFS("sort-tmpfs", true),
    /** Spark's sort shuffle, its files in a tmpfs and not compressed: as many bytes, in memory, as ours has. */
    SORT_BARE("sort-bare", true, "spark.shuffle.compress", "false"),
    /** Our shuffle; it spills to disk. */
    OURS("ours", false);

    /** Sort shuffle in each configuration. */
    public static final List<Configuration> SORT =
            Stream.of(values()).filter(configuration -> configuration != OURS).toList();

    private final String label;
    private final boolean inMemory;
    /** Spark's setting that is this configuration's alone, and its value; both empty if there is none. */
    private final String key;

    private final String value;

    Configuration(String label, boolean inMemory) {
        this(label, inMemory, "", "");
    }

    Configuration(String label, boolean inMemory, String key, String value) {
        this.label = label;
        this.inMemory = inMemory;
        this.key = key;
        this.value = value;
    }

    /** Returns the name in tables, in JSON and of files. */
    public String label() {
        return label;
    }

    /** Returns whether Spark's local directories lie in a tmpfs. */
    public boolean inMemory() {
        return inMemory;
    }

    /** Returns whether it is a sort shuffle that compresses, Spark's default. */
    public boolean compresses() {
        return this == SORT_DISK || this == SORT_TMPFS;
    }

    /** Returns the settings of Spark that are this configuration's alone. */
    public Map<String, String> conf() {
        return key.isEmpty() ? Map.of() : Map.of(key, value);
    }
}
