// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

/** Result of comparing one query's two results. */
public enum QueryVerdict {
    /** The same multiset of rows. */
    EQUAL("yes", true),
    /**
     * The rows differ only in which of equally ranked ones the final LIMIT kept; without it both results are the same.
     */
    EQUAL_BUT_TIES("yes, ties", true),
    /** The rows differ. */
    DIFFERENT("NO", false),
    /** Sort shuffle ran it and ours did not. */
    OURS_FAILED("FAILED", false),
    /** Sort shuffle cannot run it either, so it says nothing about ours. */
    NOT_RUN("not run", true);

    private final String label;
    private final boolean acceptable;

    QueryVerdict(String label, boolean acceptable) {
        this.label = label;
        this.acceptable = acceptable;
    }

    /** Returns what tables say. */
    public String label() {
        return label;
    }

    /** Returns whether the demo may still end with exit code 0. */
    public boolean acceptable() {
        return acceptable;
    }

    /** Returns whether both results are known to be the same. */
    public boolean equal() {
        return this == EQUAL || this == EQUAL_BUT_TIES;
    }
}
