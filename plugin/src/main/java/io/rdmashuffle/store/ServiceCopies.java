// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of map outputs on disk, in place of the links of {@link ServiceFiles} to the pool of an executor that has
 * ended: the external shuffle service needs that pool no longer, and its memory is free.
 *
 * <p>A copy has its bytes at the same offsets as the region's file, with a hole before them, since the service keeps
 * the offsets that it has read. It takes the link's name by a rename, so a service that opens the file has all of it.
 *
 * <p><b>Threading:</b> stateless; interruptible. Several processes may do the same at once.
 *
 * <p><b>Source:</b> {@code ExternalShuffleBlockResolver}, rename(2).
 */
public final class ServiceCopies {
    private static final Logger LOG = LoggerFactory.getLogger(ServiceCopies.class);
    private static final String DATA = ".data";
    private static final String INDEX = ".index";
    /** Files of an executor lie in directories of its local directories. */
    private static final int DEPTH = 2;

    private ServiceCopies() {}

    /**
     * Replaces all links to a pool.
     *
     * @param localDirectories of the executor, as the service knows them
     * @param pool directory of the pool's files
     * @return the number of links replaced
     * @throws IOException if a directory or a region cannot be read, or a disk is full; links that are left are valid
     */
    public static int replaceLinks(List<Path> localDirectories, Path pool) throws IOException {
        Map<String, Path> files = new HashMap<>();
        for (Path directory : localDirectories) {
            addFiles(directory, files);
        }
        int replaced = 0;
        for (Map.Entry<String, Path> file : files.entrySet()) {
            String name = file.getKey();
            if (name.endsWith(DATA) && Files.isSymbolicLink(file.getValue())) {
                Path index = files.get(name.replace(DATA, INDEX));
                replaced += index != null && replace(file.getValue(), index, pool) ? 1 : 0;
            }
        }
        return replaced;
    }

    /** Adds the files of a local directory by name. Spark distributes them by the hash of their names. */
    private static void addFiles(Path directory, Map<String, Path> files) throws IOException {
        try (Stream<Path> all = Files.walk(directory, DEPTH)) {
            all.forEach(file -> files.put(String.valueOf(file.getFileName()), file));
        } catch (UncheckedIOException e) {
            throw new IOException("cannot list " + directory, e.getCause());
        }
    }

    private static boolean replace(Path data, Path index, Path pool) throws IOException {
        Path copy = data.resolveSibling(data.getFileName() + "." + UUID.randomUUID());
        try {
            Path region = Files.readSymbolicLink(data);
            if (!region.startsWith(pool)) {
                return false;
            }
            copy(region, readRange(index), copy);
            Files.move(copy, data, StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException e) {
            if (Files.exists(index, LinkOption.NOFOLLOW_LINKS)) {
                throw e;
            }
            LOG.debug("{} is not needed any more", data, e);
            return false;
        } finally {
            Files.deleteIfExists(copy);
        }
        if (Files.notExists(index, LinkOption.NOFOLLOW_LINKS)) {
            // The index goes first: the copied bytes may be those of another output.
            Files.deleteIfExists(data);
            return false;
        }
        return true;
    }

    /** Bytes of a file. */
    private record Range(long start, long end) {}

    private static Range readRange(Path index) throws IOException {
        try (FileChannel offsets = FileChannel.open(index, StandardOpenOption.READ)) {
            long last = offsets.size() - Long.BYTES;
            Range range = new Range(readLong(offsets, 0), readLong(offsets, last));
            if (last <= 0 || range.start() < 0 || range.end() < range.start()) {
                throw new IOException(index + " is no index of a map output");
            }
            return range;
        }
    }

    private static long readLong(FileChannel from, long position) throws IOException {
        ByteBuffer value = ByteBuffer.allocate(Long.BYTES);
        while (value.hasRemaining()) {
            if (from.read(value, Math.max(0, position) + value.position()) < 0) {
                throw new EOFException("an index ends early");
            }
        }
        return value.flip().getLong();
    }

    private static void copy(Path region, Range range, Path to) throws IOException {
        try (FileChannel source = FileChannel.open(region, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
                FileChannel target = FileChannel.open(to, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            target.position(range.start());
            long next = range.start();
            while (next < range.end()) {
                long copied = source.transferTo(next, range.end() - next, target);
                if (copied <= 0) {
                    throw new EOFException(region + " ends before offset " + range.end());
                }
                next += copied;
            }
        }
    }
}
