// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

/**
 * Location of a block, as the reader knows it: the owner may have moved the map output since. Each source has its own.
 *
 * <p><b>Threading:</b> immutable.
 */
interface BlockLocation {
    /** Locations that Spark's block transfer reads. */
    enum Elsewhere implements BlockLocation {
        /** Not known, or not readable one-sidedly. */
        UNKNOWN,
        /** A shuffle file of Spark's. */
        FILE
    }
}
