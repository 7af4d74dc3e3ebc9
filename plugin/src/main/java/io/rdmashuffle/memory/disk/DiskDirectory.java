// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of the disk tier in one of Spark's local directories. Leases come from them in turn, so that concurrent writers
 * rarely share a file: ext4 and XFS lock the inode during a buffered write and while a hole is punched.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns the files.
 */
final class DiskDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DiskDirectory.class);

    /** A full or broken disk rarely recovers at once. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Path path;
    private final List<DiskTierFile> files;
    private final AtomicInteger turn = new AtomicInteger();
    private long refusedUntil = System.nanoTime();
    private boolean warned;

    DiskDirectory(Path path, List<DiskTierFile> files) {
        this.path = path;
        this.files = List.copyOf(files);
    }

    Path path() {
        return path;
    }

    /** Returns a file; null if there is none of that number. */
    @Nullable
    DiskTierFile file(int number) {
        return number < files.size() ? files.get(number) : null;
    }

    /** Leases bytes of one file, which grows if it has to; null if that is not possible, or was not lately. */
    @Nullable
    Lease reserve(Purpose purpose, long minimum, long preferred) {
        if (isRefused()) {
            return null;
        }
        int first = turn.getAndIncrement();
        try {
            return inTurn(first).reserve(purpose, minimum, preferred);
        } catch (IOException e) {
            // Other files may have free ranges where the disk has no more.
            for (int i = 1; i < files.size(); i++) {
                Lease lease = inTurn(first + i).take(purpose, minimum, preferred);
                if (lease != null) {
                    return lease;
                }
            }
            refuse(e);
            return null;
        }
    }

    private DiskTierFile inTurn(int number) {
        return files.get(Math.floorMod(number, files.size()));
    }

    private synchronized boolean isRefused() {
        return System.nanoTime() - refusedUntil < 0;
    }

    /** Leases nothing for a while. */
    void refuse(IOException cause) {
        synchronized (this) {
            refusedUntil = System.nanoTime() + RETRY_NANOS;
            if (warned) {
                LOG.debug("The disk tier in {} is refused again", path, cause);
                return;
            }
            warned = true;
        }
        LOG.warn(
                "Disk tier in {} refuses writes: {}; map outputs go to other local directories or Spark's shuffle"
                        + " files, and it is tried again every 10 s without further warnings"
                        + " (spark.shuffle.rdma.disk.enabled, spark.shuffle.rdma.disk.minFree)",
                path,
                cause.getMessage(),
                cause);
    }

    DiskUsage usage() {
        return files.stream().map(DiskTierFile::usage).reduce(DiskUsage.NONE, DiskUsage::plus);
    }

    void retire() {
        files.forEach(DiskTierFile::retire);
    }

    @Override
    public void close() {
        files.forEach(DiskTierFile::close);
    }
}
