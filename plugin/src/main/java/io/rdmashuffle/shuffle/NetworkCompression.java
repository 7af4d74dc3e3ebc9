// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

/**
 * Decision whether all map outputs of a direct shuffle are compressed, because of the network. Decided once a shuffle,
 * since adaptive execution compares the lengths of its blocks.
 */
public enum NetworkCompression {
    /** Uncompressed records, compressed only if memory or disk is short. */
    OFF,
    /** Every map output. */
    ON,
    /** No executor had announced itself when the shuffle was registered: who writes first asks the driver. */
    ASK_DRIVER
}
