// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
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

    private final Map<Path, FileChannel> open = new HashMap<>();
    private final Map<Path, Long> refusedUntil = new HashMap<>();

    /** Returns whether a range of a file can be read as far as its size tells. */
    boolean isReadable(FileSlice range) {
        Long refused = refusedUntil.get(range.path());
        if (refused != null) {
            if (System.nanoTime() - refused < 0) {
                return false;
            }
            refusedUntil.remove(range.path());
        }
        try {
            return range.offset() + range.lengthBytes() <= file(range).size();
        } catch (IOException e) {
            refuse(range, e);
            return false;
        }
    }

    /** Sends bytes of a file; returns how many the channel has taken. An exception is the channel's or the file's. */
    long transfer(FileSlice range, WritableByteChannel target) throws IOException {
        FileChannel file = file(range);
        long sent = file.transferTo(range.offset(), range.lengthBytes(), target);
        if (sent == 0 && range.offset() >= file.size()) {
            throw new IOException(range.path() + " was truncated");
        }
        return sent;
    }

    /** Refuses a file for a while if a range that is leased cannot be read. */
    void refuseIfUnreadable(FileSlice range) {
        try {
            if (file(range).read(ByteBuffer.allocate(1), range.offset()) < 1) {
                refuse(range, new IOException(range.path() + " was truncated"));
            }
        } catch (IOException e) {
            refuse(range, e);
        }
    }

    /** Refuses a file for a while. */
    void refuse(FileSlice range, IOException cause) {
        if (refusedUntil.put(range.path(), System.nanoTime() + REFUSED_NANOS) == null) {
            LOG.warn(
                    "Cannot read {} for peers; it is not served over TCP for 30 s, and they try Spark's block transfer"
                            + " (spark.local.dir)",
                    range.path(),
                    cause);
        }
        close(open.remove(range.path()));
    }

    private FileChannel file(FileSlice range) throws IOException {
        FileChannel known = open.get(range.path());
        if (known == null) {
            known = FileChannel.open(range.path(), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
            open.put(range.path(), known);
        }
        return known;
    }

    /** Closes a file that is not read any more. */
    void forget(Path file) {
        refusedUntil.remove(file);
        close(open.remove(file));
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
