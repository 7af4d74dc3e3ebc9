// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * An executor's pool: registered memory, and behind it the disk.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing; who created the tiers closes them.
 *
 * @param memory the first tier
 * @param disk the second one; null if there is none
 */
public record TieredPool(Pool memory, @Nullable DiskTier disk) {
    /** Returns a pool without a disk tier. */
    public static TieredPool of(Pool memory) {
        return new TieredPool(memory, null);
    }

    /**
     * Leases {@code preferred} bytes, or fewer but at least {@code minimum}: of memory as long as it has any, else on
     * disk. So an output takes all memory that is free, lease after lease, and only its rest lies on disk.
     *
     * @param waitPolicy with the memory; the disk is never waited for
     * @return null when both tiers are full
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, WaitPolicy waitPolicy)
            throws InterruptedException {
        Lease lease = memory.reserve(purpose, minimum, preferred, waitPolicy);
        return lease != null || disk == null ? lease : disk.reserve(purpose, minimum, preferred);
    }

    /** Leases {@code bytes} on disk, contiguously; null if no local directory has room, or there is no disk tier. */
    public @Nullable Lease reserveOnDisk(Purpose purpose, long bytes) {
        return disk == null ? null : disk.reserve(purpose, bytes, bytes);
    }

    /** Leases nothing from now on, as if both tiers were full. */
    public void retire() {
        memory.retire();
        if (disk != null) {
            disk.retire();
        }
    }

    /** Abandons a region of the disk tier for a while, after a write to it has failed. */
    public void failed(Region region, IOException cause) {
        if (disk != null && Region.isOnDisk(region.id())) {
            disk.failed(region, cause);
        }
    }

    /**
     * Writes what a lease of the disk tier begins with.
     *
     * @return false if that failed, and then the region is given up for a while
     */
    public boolean write(Lease lease, long offset, MemorySlice source) {
        DiskTier tier = disk;
        if (tier == null || !(lease.bytes() instanceof FileSlice target)) {
            throw new IllegalArgumentException("the lease lies in memory");
        }
        try {
            long started = System.nanoTime();
            target.slice(offset, source.lengthBytes()).write(source);
            tier.pace().wrote(source.lengthBytes(), System.nanoTime() - started);
            return true;
        } catch (IOException e) {
            failed(lease.region(), e);
            return false;
        }
    }

    /** Lends the buffer through which a map output is written to disk; only with a disk tier. */
    public OutputBuffer lendBuffer() {
        DiskTier tier = disk;
        if (tier == null) {
            throw new IllegalStateException("there is no disk tier");
        }
        return new OutputBuffer(tier, tier.takeBuffer());
    }
}
