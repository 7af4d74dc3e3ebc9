// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/** What a lease is for; the pool accounts by it and the leak report names it. */
public enum Purpose {
    /** Directory of this executor's map outputs. */
    DIRECTORY,
    /** Offsets and checksums of one map output. */
    INDEX,
    /** Data of one map output. */
    MAP_OUTPUT,
    /** Landing place of a read from a peer. */
    RECEIVE
}
