// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.memory.host.FreeSpace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a pool.
 *
 * @param directory a tmpfs or hugetlbfs mount
 * @param capBytes hard cap of all regions together
 * @param initialBytes how much is mapped at start; 0 is one region
 * @param regionBytes largest length of a region; those of the start, of a small pool and the last one may be shorter
 * @param adviseHugepages whether to ask for transparent huge pages, where the directory gives them
 * @param application in which the files may outlive this process; null if they may not
 */
public record PoolSettings(
        Path directory,
        long capBytes,
        long initialBytes,
        long regionBytes,
        boolean adviseHugepages,
        @Nullable PoolApplication application) {
    /** Settings of a pool whose files do not outlive this process. */
    public PoolSettings(Path directory, long capBytes, long initialBytes, long regionBytes, boolean adviseHugepages) {
        this(directory, capBytes, initialBytes, regionBytes, adviseHugepages, null);
    }

    /** Returns the same with files that may outlive this process. */
    public PoolSettings outliving(PoolApplication in) {
        return new PoolSettings(directory, capBytes, initialBytes, regionBytes, adviseHugepages, in);
    }

    /** Returns the same with another cap, which bounds the initial size too. */
    PoolSettings withCap(long otherCapBytes) {
        return new PoolSettings(
                directory,
                otherCapBytes,
                Math.min(initialBytes, otherCapBytes),
                regionBytes,
                adviseHugepages,
                application);
    }

    /** Returns a copy whose first region and all later ones have at most {@code bytes}. */
    PoolSettings inPieces(long firstBytes, long longestBytes) {
        long region = Math.min(regionBytes, longestBytes);
        long initial = Math.min(initialBytes == 0 ? region : initialBytes, firstBytes);
        return new PoolSettings(directory, capBytes, initial, region, adviseHugepages, application);
    }

    /**
     * Returns the unit in which the directory's file system maps files: the page on tmpfs, the huge page on hugetlbfs.
     */
    public long pageBytes() {
        try {
            return Files.getFileStore(directory).getBlockSize();
        } catch (IOException e) {
            throw inaccessible(e);
        }
    }

    /** Returns the free bytes of the directory's file system. */
    long freeBytes() {
        try {
            return FreeSpace.of(directory);
        } catch (IOException e) {
            throw inaccessible(e);
        }
    }

    private UncheckedIOException inaccessible(IOException cause) {
        return new UncheckedIOException(
                "cannot access " + directory + "; set spark.shuffle.rdma.pool.directory to an existing tmpfs", cause);
    }
}
