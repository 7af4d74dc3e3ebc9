// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files of one pool, and the removal of those that crashed processes left.
 *
 * <pre>
 *   &lt;directory&gt;/rdma-shuffle-&lt;uid&gt;-&lt;token&gt;.0    region 0; its flock says that the owner lives
 *   &lt;directory&gt;/rdma-shuffle-&lt;uid&gt;-&lt;token&gt;.1    region 1, ...
 * </pre>
 *
 * The token is a random UUID, so that two applications of one user never meet. The kernel drops the lock when the owner
 * dies, however it dies, and the lock is seen across process-id namespaces. Files are private to the user (0600).
 *
 * <p>A pool creates region 0 before the others and removes it after them. So where a region is seen and after that no
 * region 0, another program has removed that one, as logind does with all of a user's files at logout
 * ({@code RemoveIPC}), and nothing tells any more whether the owner lives. What it created before is of no use to
 * others then, and before it creates more it locks another region 0.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its files and the descriptor of region 0; {@link #close()} removes both, and a shutdown
 * hook does so when the process is asked to end before anyone closed.
 *
 * <p><b>Source:</b> flock(2) (locks belong to the open file description, not to the process), open(2), fallocate(2).
 */
final class PoolFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PoolFiles.class);
    private static final String PREFIX = "rdma-shuffle-";
    private static final String TOKEN = "-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    private static final String LOCKED_SUFFIX = ".0";
    private static final String UNSEEN_SUFFIX = "-new";
    private static final int PRIVATE_MODE = 0600;

    private final Path directory;
    private final String stem;
    private final List<Path> created = new ArrayList<>();
    private final Thread removeAtExit = new Thread(this::removeAll, "rdma-pool-cleanup");
    private int lockedFd = -1;
    private boolean closed;

    private PoolFiles(Path directory, String stem) {
        this.directory = directory;
        this.stem = stem;
    }

    /** Prepares a new, empty set of files. */
    static PoolFiles create(Path directory) {
        PoolFiles files = new PoolFiles(directory, PREFIX + LibC.load().geteuid() + "-" + UUID.randomUUID());
        Runtime.getRuntime().addShutdownHook(files.removeAtExit);
        return files;
    }

    /** Returns the path of a region's file, whether it exists or not. */
    Path path(int regionId) {
        return directory.resolve(stem + "." + regionId);
    }

    /**
     * Creates a region's file with all its pages reserved, and maps it.
     *
     * @param hugepages whether to ask for huge pages, where the file system gives them
     * @throws NativeException with ENOSPC when the file system is full; nothing is left behind then
     */
    synchronized Mapping createRegion(int regionId, long lengthBytes, boolean hugepages) {
        if (closed) {
            throw new IllegalStateException("pool files are closed");
        }
        Path path = path(regionId);
        if (regionId > 0) {
            lockAnew();
        }
        int fd = regionId == 0 ? openLocked(path) : open(path, LibC.O_RDWR | LibC.O_CREAT | LibC.O_EXCL);
        created.add(path);
        Mapping mapping;
        try {
            mapping = hugepages ? mapHuge(fd, path, lengthBytes) : mapReserved(fd, path, lengthBytes);
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, () -> forget(path, fd));
            throw failure;
        }
        if (regionId == 0) {
            lockedFd = fd;
        } else {
            LibC.load().close(fd);
        }
        return mapping;
    }

    private static Mapping mapReserved(int fd, Path path, long lengthBytes) {
        reserve(fd, path, lengthBytes);
        return Mapping.readWrite(fd, path, lengthBytes);
    }

    /** Maps before it reserves: fallocate sees no advice and takes small pages, but none where there is one already. */
    private static Mapping mapHuge(int fd, Path path, long lengthBytes) {
        if (LibC.load().ftruncate(fd, lengthBytes) != 0) {
            throw new NativeException(
                    "ftruncate(" + path + ", length=" + lengthBytes + ")", NativeException.lastErrno(), "");
        }
        Mapping mapping = Mapping.readWrite(fd, path, lengthBytes);
        try {
            mapping.populateHuge();
            reserve(fd, path, lengthBytes);
            return mapping;
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, mapping);
            throw failure;
        }
    }

    /** Takes all pages now: a tmpfs that is full shows up as SIGBUS on the first store otherwise. */
    private static void reserve(int fd, Path path, long lengthBytes) {
        int errno = FileBlocks.reserve(
                (offset, bytes) -> LibC.load().fallocate(fd, 0, offset, bytes) == 0 ? 0 : NativeException.lastErrno(),
                0,
                lengthBytes);
        if (errno != 0) {
            throw new NativeException(
                    "fallocate(" + path + ", length=" + lengthBytes + ")",
                    errno,
                    "enlarge the file system (docker: --shm-size) or lower spark.shuffle.rdma.pool.maxSize");
        }
    }

    /** Locks another region 0 if a program has removed that one; otherwise nothing would remove the next regions. */
    private void lockAnew() {
        Path locked = path(0);
        if (lockedFd >= 0 && Files.notExists(locked, LinkOption.NOFOLLOW_LINKS)) {
            LOG.warn(
                    "Another program has removed the files of this pool in {}: peers that do not have them open use"
                            + " Spark's block transfer. At logout logind does that: set RemoveIPC=no in logind.conf, or"
                            + " run executors as a system user",
                    directory);
            int fd = openLocked(locked);
            LibC.load().close(lockedFd);
            lockedFd = fd;
        }
    }

    /** Removes the file of a region; processes that have it mapped keep the bytes. */
    synchronized void removeRegion(int regionId) {
        if (!closed) {
            forget(path(regionId), regionId == 0 ? lockedFd : -1);
            lockedFd = regionId == 0 ? -1 : lockedFd;
        }
    }

    private void forget(Path path, int fd) {
        deleteQuietly(path);
        created.remove(path);
        if (fd >= 0) {
            LibC.load().close(fd);
        }
    }

    /** Removes every file; processes that have them mapped keep the bytes. Later calls do nothing. */
    @Override
    public void close() {
        removeAll();
        try {
            Runtime.getRuntime().removeShutdownHook(removeAtExit);
        } catch (IllegalStateException shuttingDown) {
            LOG.debug("Closed during shutdown: nothing is left for the shutdown hook", shuttingDown);
        }
    }

    private synchronized void removeAll() {
        if (closed) {
            return;
        }
        closed = true;
        // Region 0 last: as long as it is there, the next start finds what an interrupted removal left.
        for (int i = created.size() - 1; i >= 0; i--) {
            deleteQuietly(created.get(i));
        }
        if (lockedFd >= 0) {
            LibC.load().close(lockedFd);
            lockedFd = -1;
        }
    }

    /** Creates region 0 locked: under another name first, so that no sweeper ever meets it without its lock. */
    private static int openLocked(Path path) {
        Path unseen = path.resolveSibling(path.getFileName() + UNSEEN_SUFFIX);
        int fd = open(unseen, LibC.O_RDWR | LibC.O_CREAT | LibC.O_EXCL);
        try {
            if (LibC.load().flock(fd, LibC.LOCK_EX | LibC.LOCK_NB) != 0) {
                throw new NativeException(
                        "flock(" + unseen + ")",
                        NativeException.lastErrno(),
                        "set spark.shuffle.rdma.pool.directory to a file system of this host");
            }
            move(unseen, path);
            return fd;
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, () -> LibC.load().close(fd), () -> deleteQuietly(unseen));
            throw failure;
        }
    }

    private static void move(Path from, Path to) {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static int open(Path path, int flags) {
        int fd = LibC.load().open(path.toString(), flags | LibC.O_CLOEXEC, PRIVATE_MODE);
        if (fd < 0) {
            throw new NativeException(
                    "open(" + path + ")",
                    NativeException.lastErrno(),
                    "set spark.shuffle.rdma.pool.directory to a tmpfs or hugetlbfs mount that this user may write");
        }
        return fd;
    }

    /** Removes the files of this user's pools whose owner is dead; returns how many pools that were. */
    static int removeAbandoned(Path directory) {
        // Anybody may put a file there, under any name: only names that a pool gives are looked at.
        String mine = PREFIX + LibC.load().geteuid() + TOKEN;
        int pools = 0;
        try {
            for (Path path : named(directory, Pattern.compile(mine + "\\.0").asMatchPredicate())) {
                pools += removeIfAbandoned(directory, path) ? 1 : 0;
            }
            pools += removeOrphans(
                    named(directory, Pattern.compile(mine + "\\.[1-9][0-9]*").asMatchPredicate()));
        } catch (NoSuchFileException e) {
            LOG.debug("Nothing to remove: there is no {}", directory, e);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot list " + directory + "; set spark.shuffle.rdma.pool.directory to an existing tmpfs", e);
        }
        if (pools > 0) {
            LOG.info("Removed the pool files of {} dead process(es) in {}", pools, directory);
        }
        return pools;
    }

    private static boolean removeIfAbandoned(Path directory, Path locked) {
        int fd = LibC.load().open(locked.toString(), LibC.O_RDWR | LibC.O_CLOEXEC, 0);
        if (fd < 0) {
            int errno = NativeException.lastErrno();
            if (!Errno.ENOENT.is(errno)) {
                LOG.warn("Cannot open {}: {}", locked, Errno.describe(errno));
            }
            return false;
        }
        try {
            if (LibC.load().flock(fd, LibC.LOCK_EX | LibC.LOCK_NB) != 0) {
                return false;
            }
            // We hold the lock, so the owner is dead and no other process removes these files.
            String name = String.valueOf(locked.getFileName());
            removeRegions(directory, name.substring(0, name.length() - LOCKED_SUFFIX.length()), locked);
            return true;
        } finally {
            LibC.load().close(fd);
        }
    }

    private static void removeRegions(Path directory, String stem, Path lockedLast) {
        try {
            for (Path region : named(directory, name -> name.startsWith(stem + "."))) {
                if (!region.equals(lockedLast)) {
                    deleteQuietly(region);
                }
            }
        } catch (IOException e) {
            LOG.warn("Cannot list the files of {} in {}", stem, directory, e);
            return;
        }
        deleteQuietly(lockedLast);
    }

    /** Removes regions without a region 0; returns of how many pools. */
    private static int removeOrphans(List<Path> regions) {
        Set<Path> pools = new HashSet<>();
        for (Path region : regions) {
            String name = String.valueOf(region.getFileName());
            Path locked = region.resolveSibling(name.substring(0, name.lastIndexOf('.')) + LOCKED_SUFFIX);
            // Looked for after the region was seen: the pool may have been created, or closed, meanwhile.
            if (Files.notExists(locked, LinkOption.NOFOLLOW_LINKS) && deleteQuietly(region)) {
                pools.add(locked);
            }
        }
        return pools.size();
    }

    private static List<Path> named(Path directory, Predicate<String> names) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory)) {
            for (Path path : all) {
                if (names.test(String.valueOf(path.getFileName()))) {
                    found.add(path);
                }
            }
        }
        return found;
    }

    /** Returns whether there was such a file and it is gone. */
    private static boolean deleteQuietly(Path path) {
        try {
            return Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.warn("Cannot remove {}; the next start tries again", path, e);
            return false;
        }
    }
}
