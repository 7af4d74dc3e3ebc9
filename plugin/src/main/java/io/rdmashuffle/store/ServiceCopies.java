// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of map outputs on disk, in place of the links of {@link ServiceFiles} to the pool of an executor that has
 * ended: the external shuffle service needs that pool no longer, and its memory is free.
 *
 * <p>A copy has its bytes at the same offsets as the region's file, with a hole before them, since the service keeps
 * the offsets that it has read. It takes the link's name by a rename, so a service that opens the file has all of it.
 *
 * <p><b>Threading:</b> one thread; interruptible. Several processes may do the same at once.
 *
 * <p><b>Source:</b> {@code ExternalShuffleBlockResolver}, rename(2).
 */
public final class ServiceCopies {
    private static final Logger LOG = LoggerFactory.getLogger(ServiceCopies.class);
    private static final Pattern FILE = Pattern.compile("(shuffle_(\\d+)_\\d+_0)\\.(index|data)");

    private final List<Path> localDirectories;
    private final long minFreeBytes;

    /**
     * Prepares copies for an executor.
     *
     * @param localDirectories of the executor, as the service knows them
     * @param minFreeBytes that copies leave free on their file system
     */
    public ServiceCopies(List<Path> localDirectories, long minFreeBytes) {
        this.localDirectories = List.copyOf(localDirectories);
        this.minFreeBytes = minFreeBytes;
    }

    /**
     * Replaces all links to memory, and removes the files of other shuffles.
     *
     * @param shuffleIds shuffles whose outputs are needed
     * @return the number of links replaced
     * @throws IOException if a directory or a region cannot be read, or a disk is full; remaining links are as before,
     *     and another attempt goes on from there
     */
    public int replaceLinks(Set<Integer> shuffleIds) throws IOException {
        Map<String, Path> files = new HashMap<>();
        for (Path directory : localDirectories) {
            addFiles(directory, files);
        }
        int replaced = 0;
        for (Map.Entry<String, Path> file : files.entrySet()) {
            Matcher name = FILE.matcher(file.getKey());
            if (!name.matches()) {
                continue;
            }
            Path index = files.get(name.group(1) + ".index");
            if (!shuffleIds.contains(Integer.valueOf(name.group(2)))) {
                Files.deleteIfExists(file.getValue());
            } else if (index != null && Files.isSymbolicLink(file.getValue())) {
                replaced += replace(file.getValue(), index) ? 1 : 0;
            }
        }
        return replaced;
    }

    /** Adds the files below a local directory by name. Spark distributes them by the hash of their names. */
    private static void addFiles(Path directory, Map<String, Path> files) throws IOException {
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            for (Path child : children) {
                addFilesIn(child, files);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** The cluster manager may be removing other files of the executor. */
    private static void addFilesIn(Path directory, Map<String, Path> files) throws IOException {
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            children.forEach(child -> files.put(String.valueOf(child.getFileName()), child));
        } catch (NoSuchFileException | NotDirectoryException e) {
            LOG.trace("{} holds no files", directory, e);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private boolean replace(Path data, Path index) throws IOException {
        // A name that the cluster manager does not take for that of a temporary file.
        Path copy = data.resolveSibling(UUID.randomUUID() + ".data");
        try {
            Path target = Files.readSymbolicLink(data);
            if (localDirectories.stream().anyMatch(target::startsWith)) {
                // A file of the disk tier stays.
                return false;
            }
            copy(target, readRange(index), copy);
            Files.move(copy, data, StandardCopyOption.ATOMIC_MOVE);
        } catch (NotLinkException e) {
            LOG.debug("Another process has replaced {}", data, e);
            return false;
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
            // The owner removes the index first: the copied bytes may be those of another output.
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
            Range range = new Range(readLong(offsets, 0), readLong(offsets, Math.max(0, last)));
            if (last <= 0 || range.start() < 0 || range.end() < range.start()) {
                throw new IOException(index + " is no index of a map output");
            }
            return range;
        }
    }

    private static long readLong(FileChannel from, long position) throws IOException {
        ByteBuffer value = ByteBuffer.allocate(Long.BYTES);
        while (value.hasRemaining()) {
            if (from.read(value, position + value.position()) < 0) {
                throw new EOFException("an index ends early");
            }
        }
        return value.flip().getLong();
    }

    private void copy(Path region, Range range, Path to) throws IOException {
        long length = range.end() - range.start();
        long free = Files.getFileStore(to.getParent()).getUsableSpace();
        if (free - length < minFreeBytes) {
            throw new IOException("the file system of " + to.getParent() + " has " + free + " bytes free");
        }
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
