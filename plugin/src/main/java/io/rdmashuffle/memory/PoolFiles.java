// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.slice.FileBlocks;
import io.rdmashuffle.memory.slice.FileStatus;
import io.rdmashuffle.memory.slice.Mapping;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of one pool, and the removal of abandoned files of dead processes.
 *
 * <pre>
 *   {@link PoolDirectory}/{@link RegionFileName}       mode 0600; a region, complete once it has this name
 *   {@link PoolDirectory}/new                  a region that is being created
 * </pre>
 *
 * The directory exists as long as the pool has files. A program of the same user may remove it or its files, as logind
 * does with all of a user's files at logout ({@code RemoveIPC}): the owner keeps the memory, and creates the directory
 * again before it creates more files.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its files and the directory; {@link #close()} removes both, and a shutdown hook does so
 * when the process is asked to end before anyone closed.
 *
 * <p><b>Source:</b> open(2), fallocate(2).
 */
final class PoolFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PoolFiles.class);
    private static final String INCOMPLETE = "new";
    private static final int PRIVATE_MODE = 0600;

    private final Path parent;
    private final @Nullable PoolApplication application;
    private final Map<Integer, Path> created = new HashMap<>();
    private final AtomicLong removedByOthers = new AtomicLong();
    private final Thread removeAtExit = new Thread(this::removeAll, "rdma-pool-cleanup");
    private @Nullable PoolDirectory directory;
    private boolean outlives;
    private boolean closed;

    private PoolFiles(Path parent, @Nullable PoolApplication application) {
        this.parent = parent;
        this.application = application;
    }

    /**
     * Prepares a new, empty set of files.
     *
     * @param parent the pools' directory, which may be shared with other users
     * @param application in which the files may outlive this process; null if they may not
     */
    static PoolFiles create(Path parent, @Nullable PoolApplication application) {
        PoolFiles files = new PoolFiles(parent, application);
        Runtime.getRuntime().addShutdownHook(files.removeAtExit);
        return files;
    }

    /**
     * Returns the path of a region's file.
     *
     * @throws IllegalStateException if it was not created, or has been removed
     */
    synchronized Path path(int regionId) {
        Path path = created.get(regionId);
        if (path == null) {
            throw new IllegalStateException("region " + regionId + " has no file");
        }
        return path;
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
        PoolDirectory in = openDirectory();
        Path incomplete = in.file(INCOMPLETE);
        PoolDirectory.deleteQuietly(incomplete);
        int fd = open(incomplete, LibC.O_RDWR | LibC.O_CREAT | LibC.O_EXCL);
        try {
            return complete(in, regionId, fd, lengthBytes, hugepages);
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, () -> PoolDirectory.deleteQuietly(incomplete));
            throw failure;
        } finally {
            LibC.load().close(fd);
        }
    }

    private Mapping complete(PoolDirectory in, int regionId, int fd, long lengthBytes, boolean hugepages) {
        Path incomplete = in.file(INCOMPLETE);
        Mapping mapping = hugepages ? mapHuge(fd, incomplete, lengthBytes) : mapReserved(fd, incomplete, lengthBytes);
        try {
            long inode = FileStatus.of(fd).identity().inode();
            String name = new RegionFileName(regionId, inode, lengthBytes).toString();
            Files.move(incomplete, in.file(name), StandardCopyOption.ATOMIC_MOVE);
            created.put(regionId, in.path().resolve(name));
            return mapping;
        } catch (IOException e) {
            mapping.close();
            throw new UncheckedIOException(e);
        }
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

    /** Returns the directory; creates one where there is none, or where another program has removed it. */
    private PoolDirectory openDirectory() {
        PoolDirectory held = directory;
        if (held == null) {
            directory = named(PoolDirectory.create(parent));
            return directory;
        }
        if (held.isThere()) {
            return held;
        }
        countRemoved(held);
        // If another program has moved them, no peer finds them.
        boolean unused = held.remove();
        // Under the same name: peers that have region 0 mapped look for further regions there.
        PoolDirectory again = PoolDirectory.createAt(held.path());
        if (again == null) {
            again = PoolDirectory.create(parent);
            LOG.warn(
                    "Another program has taken {}: further regions are in {}; peers of this host use Spark's block"
                            + " transfer for them",
                    held.path(),
                    again.path());
        }
        directory = named(again);
        held.close();
        return again;
    }

    private PoolDirectory named(PoolDirectory created) {
        if (application != null) {
            try {
                created.write(application);
                outlives = true;
            } catch (IOException e) {
                outlives = false;
                LOG.warn(
                        "Cannot write to {}: map outputs do not outlive this executor"
                                + " (spark.shuffle.rdma.outlive.enabled)",
                        created.path(),
                        e);
            }
        }
        return created;
    }

    /** Records that this process lives, and searches for files that another program has removed: it warns once. */
    synchronized void check() {
        PoolDirectory held = directory;
        if (!closed && held != null) {
            held.touch();
            countRemoved(held);
        }
    }

    private void countRemoved(PoolDirectory held) {
        int before = created.size();
        boolean gone = !held.isThere();
        created.values().removeIf(path -> gone || Files.notExists(path, LinkOption.NOFOLLOW_LINKS));
        int removed = before - created.size();
        if (removed > 0 && removedByOthers.getAndAdd(removed) == 0) {
            LOG.warn(
                    "Another program has removed {} file(s) of this pool in {}: peers that do not have them open read"
                            + " over TCP or Spark's block transfer. At logout logind does that: set RemoveIPC=no in"
                            + " logind.conf, or run executors as a system user",
                    removed,
                    parent);
        }
    }

    /** Returns whether the files outlive this process: the directory names their application. */
    synchronized boolean outlive() {
        return outlives;
    }

    /** Returns the directory of the files; null before there is one. */
    synchronized @Nullable Path path() {
        return directory == null ? null : directory.path();
    }

    /** Leaves the files where they are when the process is asked to end before anyone closed. */
    void keepAtExit() {
        try {
            Runtime.getRuntime().removeShutdownHook(removeAtExit);
        } catch (IllegalStateException shuttingDown) {
            LOG.debug("The process ends already; its shutdown hooks run", shuttingDown);
        }
    }

    /** Ends the use of the files, and leaves them to those who find them without a lock. */
    void leave() {
        keepAtExit();
        synchronized (this) {
            if (!closed && directory != null) {
                directory.touch();
                directory.close();
            }
            closed = true;
        }
    }

    /** Returns the number of files that other programs have removed, as far as detected. */
    long removedByOthers() {
        return removedByOthers.get();
    }

    /** Removes the file of a region; processes that have it mapped keep the bytes. */
    synchronized void removeRegion(int regionId) {
        Path path = closed ? null : created.remove(regionId);
        PoolDirectory held = directory;
        if (path != null && held != null && path.startsWith(held.path())) {
            PoolDirectory.deleteQuietly(held.file(String.valueOf(path.getFileName())));
        }
    }

    /** Removes every file; processes that have them mapped keep the bytes. Later calls do nothing. */
    @Override
    public void close() {
        removeAll();
        keepAtExit();
    }

    private synchronized void removeAll() {
        if (closed) {
            return;
        }
        closed = true;
        PoolDirectory held = directory;
        if (held != null) {
            boolean unused = held.remove();
            held.close();
        }
    }

    private static int open(Path path, int flags) {
        int fd = LibC.load().open(path.toString(), flags | LibC.O_NOFOLLOW | LibC.O_CLOEXEC, PRIVATE_MODE);
        if (fd < 0) {
            throw new NativeException(
                    "open(" + path + ")",
                    NativeException.lastErrno(),
                    "set spark.shuffle.rdma.pool.directory to a tmpfs or hugetlbfs mount that this user may write");
        }
        return fd;
    }

    /**
     * Removes the directories of this user's pools whose owner is dead. Pools that live, or are being created, stay:
     * they are locked, or their creator notices and creates another directory.
     *
     * @param isKept whether the files of a dead process are kept, by the pool's directory and its application
     * @return number of pools removed
     */
    static int removeAbandoned(Path parent, BiPredicate<Path, PoolApplication> isKept) {
        int pools = 0;
        try {
            for (Path path : PoolDirectory.named(parent)) {
                pools += removeIfAbandoned(path, isKept) ? 1 : 0;
            }
        } catch (NoSuchFileException e) {
            LOG.debug("Nothing to remove: there is no {}", parent, e);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot list " + parent + "; set spark.shuffle.rdma.pool.directory to an existing tmpfs", e);
        }
        if (pools > 0) {
            LOG.info("Removed the pool files of {} dead process(es) in {}", pools, parent);
        }
        return pools;
    }

    private static boolean removeIfAbandoned(Path path, BiPredicate<Path, PoolApplication> isKept) {
        try (PoolDirectory abandoned = PoolDirectory.lockAbandoned(path)) {
            PoolApplication application = abandoned == null ? null : abandoned.application();
            boolean kept = application != null && isKept.test(path, application);
            return abandoned != null && !kept && abandoned.remove();
        } catch (NativeException | UncheckedIOException e) {
            LOG.warn("Cannot remove {}: {}", path, e.getMessage());
            return false;
        }
    }
}
