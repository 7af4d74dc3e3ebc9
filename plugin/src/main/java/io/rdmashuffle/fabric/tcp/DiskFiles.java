// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Open files of the disk tier, from which bytes go to sockets without a copy in this process.
 *
 * <p>A file that cannot be read is refused for 30 s, so that a read that failed halfway fails with the right reason
 * when it is sent again.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns the open files.
 *
 * <p><b>Source:</b> sendfile(2), through {@link FileChannel#transferTo}.
 */
final class DiskFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DiskFiles.class);
    private static final long REFUSED_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Map<Integer, FileChannel> open = new HashMap<>();
    private final Map<Integer, Long> refusedUntil = new HashMap<>();

    /** Returns whether a range of a file can be read as far as its size tells. */
    boolean isReadable(int regionId, FileSlice range) {
        Long refused = refusedUntil.get(regionId);
        if (refused != null) {
            if (System.nanoTime() - refused < 0) {
                return false;
            }
            refusedUntil.remove(regionId);
        }
        try {
            return range.offset() + range.lengthBytes() <= file(regionId, range).size();
        } catch (IOException e) {
            refuse(regionId, range, e);
            return false;
        }
    }

    /** Sends bytes of a file; returns how many the channel has taken. An exception is the channel's or the file's. */
    long transfer(int regionId, FileSlice range, WritableByteChannel target) throws IOException {
        FileChannel file = file(regionId, range);
        long sent = file.transferTo(range.offset(), range.lengthBytes(), target);
        if (sent == 0 && range.offset() >= file.size()) {
            throw new IOException(range.path() + " was truncated");
        }
        return sent;
    }

    /** Refuses a file for a while if a range that is leased cannot be read. */
    void refuseIfUnreadable(int regionId, FileSlice range) {
        try {
            if (file(regionId, range).read(ByteBuffer.allocate(1), range.offset()) < 1) {
                refuse(regionId, range, new IOException(range.path() + " was truncated"));
            }
        } catch (IOException e) {
            refuse(regionId, range, e);
        }
    }

    /** Refuses a file for a while. */
    void refuse(int regionId, FileSlice range, IOException cause) {
        if (refusedUntil.put(regionId, System.nanoTime() + REFUSED_NANOS) == null) {
            LOG.warn(
                    "Cannot read {} for peers; it is not served over TCP for 30 s, and they try Spark's block transfer"
                            + " (spark.local.dir)",
                    range.path(),
                    cause);
        }
        close(open.remove(regionId));
    }

    private FileChannel file(int regionId, FileSlice range) throws IOException {
        FileChannel known = open.get(regionId);
        if (known == null) {
            known = FileChannel.open(range.path(), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
            open.put(regionId, known);
        }
        return known;
    }

    private static void close(@Nullable FileChannel file) {
        if (file != null) {
            try {
                file.close();
            } catch (IOException e) {
                LOG.debug("Cannot close a file of the disk tier", e);
            }
        }
    }

    @Override
    public void close() {
        open.values().forEach(DiskFiles::close);
        open.clear();
    }
}
