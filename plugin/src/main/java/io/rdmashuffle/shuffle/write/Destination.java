// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.util.List;

/** Where a map output of a direct shuffle goes, and in which form. */
enum Destination {
    /** Bare records into the pool; refused where that has no room. */
    POOL_BARE(true, false),
    /** Compressed records into the pool, or into Spark's shuffle file where that has no room. */
    POOL_COMPRESSED(true, true),
    /** Bare records into Spark's shuffle file. */
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
     * Decides where to try to write a map output, best first; the last one refuses nothing.
     *
     * <p>Bare records can be refused twice over: the pool may have no room, and a block may begin as a compressed one
     * does.
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
