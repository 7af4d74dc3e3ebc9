// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.slice.FileIdentity;
import io.rdmashuffle.memory.slice.FileStatus;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Directory of one pool's files, which only its user enters, open and locked.
 *
 * <pre>
 *   &lt;pool.directory&gt;/rdma-shuffle-&lt;uid&gt;-&lt;token&gt;       mode 0700
 *   .../application    of a pool that may outlive its process: application id and directory, a line each, UTF-8
 * </pre>
 *
 * The token is a random UUID: another user of a directory that everybody may write, such as /dev/shm, cannot take the
 * name before the pool has it, nor replace the directory afterwards, since the parent is sticky. The lock is the sign
 * of life: the kernel drops it when the owner dies, however it dies, and it is seen across process-id namespaces. Files
 * are reached through the descriptor, so that a directory that another program moves or replaces has no effect.
 *
 * <p><b>Threading:</b> immutable; closed once, by its owner.
 *
 * <p><b>Ownership:</b> owns the descriptor, and with it the lock.
 *
 * <p><b>Source:</b> mkdir(2), open(2), flock(2) (locks belong to the open file description, not to the process).
 */
final class PoolDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PoolDirectory.class);
    private static final String PREFIX = "rdma-shuffle-";
    private static final String TOKEN = "-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    private static final String APPLICATION = "application";
    private static final int MAX_RECORD_BYTES = 8 << 10;
    private static final int PRIVATE_MODE = 0700;
    private static final int OPEN_FLAGS = LibC.O_RDONLY | LibC.O_NOFOLLOW | LibC.O_NONBLOCK | LibC.O_CLOEXEC;
    private static final String REMEDY =
            "set spark.shuffle.rdma.pool.directory to a tmpfs or hugetlbfs mount of this host that this user may write";

    /** A sweeper may hold the lock of a directory that is not locked yet; then it removes that one. */
    private static final int MAX_ATTEMPTS = 1000;

    /** How long files wait for a process of their application, whose directory a failed cluster manager leaves. */
    private static final Duration MOST_ALONE = Duration.ofDays(1);

    /** Some 50 ms of a sweep. */
    private static final int MAX_LISTED = 1 << 16;

    private final Path path;
    private final int fd;
    private final FileIdentity identity;

    private PoolDirectory(Path path, int fd, FileIdentity identity) {
        this.path = path;
        this.fd = fd;
        this.identity = identity;
    }

    /**
     * Creates a directory under a new name, and locks it.
     *
     * @throws NativeException if the parent is not there or not writable, or has no locks
     */
    static PoolDirectory create(Path parent) {
        String prefix = PREFIX + uid() + "-";
        for (int i = 0; i < MAX_ATTEMPTS; i++) {
            PoolDirectory created = createAt(parent.resolve(prefix + UUID.randomUUID()));
            if (created != null) {
                return created;
            }
        }
        throw new UncheckedIOException(new IOException("another program removes or replaces the directories that this"
                + " process creates in " + parent + "; " + REMEDY));
    }

    /**
     * Creates a directory, and locks it.
     *
     * @return null if the name is taken, or lost at once to another program
     */
    static @Nullable PoolDirectory createAt(Path path) {
        if (LibC.load().mkdir(path.toString(), PRIVATE_MODE) != 0) {
            int errno = NativeException.lastErrno();
            if (Errno.EEXIST.is(errno)) {
                return null;
            }
            throw new NativeException("mkdir(" + path + ")", errno, REMEDY);
        }
        return lock(path);
    }

    /** Locks a directory that a dead process of this user left; null if its owner lives, or it is no such directory. */
    static @Nullable PoolDirectory lockAbandoned(Path path) {
        try {
            FileStatus status = FileStatus.of(path);
            return status.isDirectory() && status.uid() == LibC.load().geteuid() ? lock(path) : null;
        } catch (IOException e) {
            LOG.debug("Cannot look at {}", path, e);
            return null;
        }
    }

    private static @Nullable PoolDirectory lock(Path path) {
        int fd = LibC.load().open(path.toString(), OPEN_FLAGS, 0);
        if (fd < 0) {
            int errno = NativeException.lastErrno();
            if (Errno.ENOENT.is(errno) || Errno.ELOOP.is(errno)) {
                return null;
            }
            throw new NativeException("open(" + path + ")", errno, REMEDY);
        }
        PoolDirectory locked = null;
        try {
            if (LibC.load().flock(fd, LibC.LOCK_EX | LibC.LOCK_NB) == 0) {
                FileStatus status = FileStatus.of(fd);
                PoolDirectory candidate = new PoolDirectory(path, fd, status.identity());
                locked = isOwn(status) && candidate.isThere() ? candidate : null;
            } else {
                int errno = NativeException.lastErrno();
                if (!Errno.EAGAIN.is(errno)) {
                    throw new NativeException("flock(" + path + ")", errno, REMEDY);
                }
            }
            return locked;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            if (locked == null) {
                LibC.load().close(fd);
            }
        }
    }

    private static boolean isOwn(FileStatus status) {
        return status.isDirectory()
                && status.isPrivate()
                && status.uid() == LibC.load().geteuid();
    }

    /**
     * Returns the directories in a parent that have the name of a pool of this user, whoever made them; only among the
     * first {@value #MAX_LISTED} names, since others may create any number of them.
     */
    static List<Path> named(Path parent) throws IOException {
        // Anybody may put a file there, under any name: only names that a pool has are looked at.
        Pattern mine = Pattern.compile(PREFIX + uid() + TOKEN);
        List<Path> found = new ArrayList<>();
        int listed = 0;
        try (DirectoryStream<Path> all = Files.newDirectoryStream(parent)) {
            for (Path each : all) {
                if (++listed > MAX_LISTED) {
                    LOG.debug("{} has more than {} names: looking at no more of them", parent, MAX_LISTED);
                    break;
                }
                if (mine.matcher(String.valueOf(each.getFileName())).matches()) {
                    found.add(each);
                }
            }
        }
        return found;
    }

    private static String uid() {
        return Integer.toUnsignedString(LibC.load().geteuid());
    }

    /** Records the application in which the files may outlive this process. */
    void write(PoolApplication application) throws IOException {
        Path directory = application.directory();
        Files.writeString(file(APPLICATION), application.id() + "\n" + (directory == null ? "" : directory) + "\n");
    }

    /** Returns the application that was recorded; null if there is none, or the record is damaged. */
    @Nullable
    PoolApplication application() {
        try {
            return applicationIn(fd);
        } catch (IOException | InvalidPathException e) {
            LOG.debug("{} names no application", path, e);
            return null;
        }
    }

    private static @Nullable PoolApplication applicationIn(int fd) throws IOException {
        try (InputStream in =
                Files.newInputStream(FileStatus.path(fd).resolve(APPLICATION), LinkOption.NOFOLLOW_LINKS)) {
            List<String> lines = new String(in.readNBytes(MAX_RECORD_BYTES), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            if (lines.size() != 2) {
                return null;
            }
            return new PoolApplication(lines.get(0), lines.get(1).isEmpty() ? null : Path.of(lines.get(1)));
        }
    }

    /**
     * Returns whether an application goes on on this host, so that files of its dead processes are kept: a process of
     * it holds another pool in the same parent, or its directory exists and a process that touched the pool lived less
     * than a day ago. If its directory is gone, it has ended.
     */
    static boolean goesOn(Path pool, PoolApplication application) {
        Path directory = application.directory();
        if (directory != null && !Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        return (directory != null && livedLately(pool)) || isHeldBeside(pool, application.id());
    }

    private static boolean livedLately(Path pool) {
        try {
            Instant last =
                    Files.getLastModifiedTime(pool, LinkOption.NOFOLLOW_LINKS).toInstant();
            return last.plus(MOST_ALONE).isAfter(Instant.now());
        } catch (IOException e) {
            LOG.debug("Cannot look at {}", pool, e);
            return false;
        }
    }

    /** Records that the owner lives. */
    void touch() {
        touch(FileStatus.path(fd));
    }

    /** Records that a process of the application lives. */
    static void touch(Path pool) {
        try {
            Files.setLastModifiedTime(pool, FileTime.from(Instant.now()));
        } catch (IOException e) {
            LOG.debug("Cannot set the time of {}", pool, e);
        }
    }

    private static boolean isHeldBeside(Path pool, String applicationId) {
        try {
            for (Path other : named(Objects.requireNonNull(pool.getParent()))) {
                if (!other.equals(pool) && isHeld(other, applicationId)) {
                    return true;
                }
            }
        } catch (IOException e) {
            LOG.debug("Cannot look for pools beside {}", pool, e);
        }
        return false;
    }

    private static boolean isHeld(Path path, String applicationId) {
        int opened = LibC.load().open(path.toString(), OPEN_FLAGS, 0);
        if (opened < 0) {
            return false;
        }
        try {
            // Shared, so that two that look at the same time do not take each other for the owner.
            if (LibC.load().flock(opened, LibC.LOCK_SH | LibC.LOCK_NB) == 0 || !isOwn(FileStatus.of(opened))) {
                return false;
            }
            PoolApplication application = applicationIn(opened);
            return application != null && application.id().equals(applicationId);
        } catch (IOException | InvalidPathException e) {
            LOG.debug("Cannot look at {}", path, e);
            return false;
        } finally {
            LibC.load().close(opened);
        }
    }

    /** Returns the name by which peers find the directory. */
    Path path() {
        return path;
    }

    /** Returns a path to a file through the descriptor, independent of the directory's name; valid until closed. */
    Path file(String name) {
        return FileStatus.path(fd).resolve(name);
    }

    /** Returns whether the directory still has its name. */
    boolean isThere() {
        try {
            return FileStatus.of(path).identity().equals(identity);
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Removes the files and the directory; processes that have the files mapped keep the bytes.
     *
     * @return whether the directory is gone
     */
    boolean remove() {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(FileStatus.path(fd))) {
            for (Path file : files) {
                deleteQuietly(file);
            }
        } catch (IOException e) {
            LOG.warn("Cannot list {}", path, e);
        }
        if (isThere()) {
            deleteQuietly(path);
        }
        return !isThere();
    }

    /** Removes a file or an empty directory, if it is there. */
    static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.warn("Cannot remove {}; the next sweep tries again", path, e);
        }
    }

    /** Ends the lock. */
    @Override
    public void close() {
        LibC.load().close(fd);
    }
}
