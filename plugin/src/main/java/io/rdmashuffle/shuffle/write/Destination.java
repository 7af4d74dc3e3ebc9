// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.util.List;

/** Destination and form of a direct map output. */
enum Destination {
    /** Uncompressed records in the pool; refused if the pool has no room. */
    POOL_BARE(true, false),
    /** Compressed records into the pool, or into Spark's shuffle file where that has no room. */
    POOL_COMPRESSED(true, true),
    /** Uncompressed records in Spark's shuffle file. */
    FILE_BARE(false, false),
    /** Compressed records into Spark's shuffle file. */
    FILE_COMPRESSED(false, true);

    private final boolean pooled;
    private final boolean compressed;

    Destination(boolean pooled, boolean compressed) {
        this.pooled = pooled;
        this.compressed = compressed;
    }

    /**
     * Returns destinations for a map output, best first; the last one accepts everything.
     *
     * <p>Uncompressed records can be refused for two reasons: the pool may have no room, and a block may begin like a
     * compressed one.
     *
     * @param mayCompress whether the user lets shuffles be compressed
     * @param compresses whether records are compressed even for the pool; only where they may be
     */
    static List<Destination> inOrder(boolean mayCompress, boolean compresses) {
        if (compresses) {
            return List.of(POOL_COMPRESSED);
        }
        // Files are slow, and read through Spark's streams anyway: compression costs little there.
        return mayCompress ? List.of(POOL_BARE, FILE_COMPRESSED) : List.of(POOL_BARE, FILE_BARE, FILE_COMPRESSED);
    }

    /** Returns whether the pool is tried. */
    boolean isPooled() {
        return pooled;
    }

    boolean isCompressed() {
        return compressed;
    }
}
