// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

/**
 * Whether all map outputs of a direct shuffle are compressed because most of its bytes will cross a network without
 * one-sided reads. Decided once a shuffle, since adaptive execution compares the lengths of its blocks.
 */
public enum NetworkCompression {
    /** Bare records, compressed only where memory or disk is short. */
    OFF,
    /** Every map output. */
    ON,
    /** No executor had announced itself when the shuffle was registered: who writes first asks the driver. */
    ASK_DRIVER
}
