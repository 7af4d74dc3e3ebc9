// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.slice.FileIdentity;
import io.rdmashuffle.memory.slice.FileStatus;
import io.rdmashuffle.memory.slice.Mapping;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Region files of another process's pool; each is proven to be its owner's before it is mapped.
 *
 * <p>The owner's address names its user id, the directory, and region 0 by device, inode and length. The directory must
 * belong to that user and be closed to others, so that only the owner can have written the {@link RegionFileName names}
 * in it. An open file is mapped if it is regular and private, belongs to that user, has one name, lies on region 0's
 * device, and has the inode and length that its name says. No other user can truncate it afterwards.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing; the caller owns mappings. They stay valid after the owner has died or removed the
 * file: unlinking does not take pages away, and pools never truncate.
 *
 * <p><b>Source:</b> open(2) (O_NOFOLLOW), inode(7).
 */
public final class PeerFiles {
    private static final int OPEN_FLAGS = LibC.O_NOFOLLOW | LibC.O_NONBLOCK | LibC.O_CLOEXEC;

    private final Path directory;
    private final int uid;
    private final long device;
    private final RegionFileName first;
    /** As the directory was listed last; region 0 has the name that its owner announced. */
    private volatile Map<Integer, RegionFileName> names;

    /**
     * Creates the view of a pool from what its owner announces; opens nothing.
     *
     * @param uid user id of the owner
     * @param region0 identity of region 0's file
     * @param region0Bytes length of region 0's file
     */
    public PeerFiles(Path directory, int uid, FileIdentity region0, long region0Bytes) {
        this.directory = directory;
        this.uid = uid;
        this.device = region0.device();
        this.first = new RegionFileName(0, region0.inode(), region0Bytes);
        this.names = Map.of(0, first);
    }

    /** Returns the files of the pool that a region is part of, as its owner announces them. */
    public static PeerFiles of(Region region0) throws IOException {
        FileStatus status = FileStatus.of(region0.file());
        Path directory = region0.file().toAbsolutePath().getParent();
        return new PeerFiles(
                directory == null ? Path.of("/") : directory, status.uid(), status.identity(), status.bytes());
    }

    public Path directory() {
        return directory;
    }

    /** Returns the user id of the owner. */
    public int uid() {
        return uid;
    }

    public FileIdentity region0() {
        return new FileIdentity(device, first.inode());
    }

    public long region0Bytes() {
        return first.bytes();
    }

    /**
     * Opens region 0 and proves it.
     *
     * @throws NoSuchFileException if it is not there
     * @throws IOException if it cannot be opened, or is not the owner's
     */
    public void proveFirst() throws IOException {
        int fd = open(0, LibC.O_RDONLY);
        LibC.load().close(fd);
    }

    /** Returns whether region 0 is where the owner announced it. */
    public boolean isThere() {
        try {
            return FileStatus.of(directory.resolve(first.toString())).identity().equals(region0());
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns whether a region has no file, while region 0 has one: the owner has released it. */
    public boolean isReleased(int regionId) {
        RegionFileName name = names.get(regionId);
        return (name == null || Files.notExists(directory.resolve(name.toString()), LinkOption.NOFOLLOW_LINKS))
                && isThere();
    }

    /** Returns the numbers of the regions that have a file now. */
    public Set<Integer> regionIds() throws IOException {
        int opened = open(directory, LibC.O_RDONLY);
        try {
            return Set.copyOf(list(FileStatus.path(opened)).keySet());
        } finally {
            LibC.load().close(opened);
        }
    }

    /**
     * Maps a region for reading.
     *
     * @throws NoSuchFileException if there is no file of the region
     * @throws IOException if it cannot be opened, or is not the owner's
     * @throws NativeException if it cannot be mapped
     */
    public Mapping map(int regionId) throws IOException {
        int fd = open(regionId, LibC.O_RDONLY);
        try {
            // Proven, so that its length is the one that the name says.
            return Mapping.readOnly(fd, directory, FileStatus.of(fd).bytes());
        } finally {
            LibC.load().close(fd);
        }
    }

    /**
     * Maps a region for devices that read it: before Linux 6.2 they register no shared memory that is mapped read-only.
     * Nothing may write to it.
     *
     * @throws NoSuchFileException if there is no file of the region
     * @throws IOException if it cannot be opened, or is not the owner's
     * @throws NativeException if it cannot be mapped
     */
    Mapping mapForDevices(int regionId) throws IOException {
        int fd = open(regionId, LibC.O_RDWR);
        try {
            return Mapping.readWrite(fd, directory, FileStatus.of(fd).bytes());
        } finally {
            LibC.load().close(fd);
        }
    }

    private int open(int regionId, int access) throws IOException {
        int opened = open(directory, LibC.O_RDONLY);
        try {
            FileStatus status = FileStatus.of(opened);
            if (!status.isDirectory() || status.uid() != uid || !status.isPrivate()) {
                throw new IOException(
                        directory + " is not a directory that only user " + uid + " may enter: " + status);
            }
            return open(regionId, FileStatus.path(opened), access);
        } finally {
            LibC.load().close(opened);
        }
    }

    /** Lists the directory only where the region is not known, or has another file since. */
    private int open(int regionId, Path inside, int access) throws IOException {
        RegionFileName known = names.get(regionId);
        if (known != null) {
            try {
                return prove(open(inside.resolve(known.toString()), access), known);
            } catch (NoSuchFileException e) {
                if (known.equals(first)) {
                    throw e;
                }
            }
        }
        names = list(inside);
        RegionFileName found = names.get(regionId);
        if (found == null) {
            throw new NoSuchFileException(directory.resolve(regionId + "-*").toString());
        }
        return prove(open(inside.resolve(found.toString()), access), found);
    }

    private Map<Integer, RegionFileName> list(Path inside) throws IOException {
        Map<Integer, RegionFileName> listed = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(inside)) {
            for (Path file : files) {
                RegionFileName.parse(String.valueOf(file.getFileName()))
                        .ifPresent(name -> listed.put(name.regionId(), name));
            }
        }
        listed.put(0, first);
        return listed;
    }

    /** Opens without following a symbolic link or waiting for the other end of a pipe. */
    private static int open(Path path, int access) throws IOException {
        int fd = LibC.load().open(path.toString(), access | OPEN_FLAGS, 0);
        if (fd < 0) {
            int errno = NativeException.lastErrno();
            if (Errno.ENOENT.is(errno)) {
                throw new NoSuchFileException(path.toString());
            }
            throw new IOException("open(" + path + "): " + Errno.describe(errno));
        }
        return fd;
    }

    private int prove(int fd, RegionFileName name) throws IOException {
        boolean proven = false;
        try {
            FileStatus status = FileStatus.of(fd);
            proven = status.isRegular()
                    && status.isPrivate()
                    && status.uid() == uid
                    && status.links() <= 1
                    && status.identity().equals(new FileIdentity(device, name.inode()))
                    && status.bytes() == name.bytes();
            if (!proven) {
                throw new IOException(directory.resolve(name.toString()) + " is not the file that user " + uid
                        + " announced on device " + device + ": " + status);
            }
            return fd;
        } finally {
            if (!proven) {
                LibC.load().close(fd);
            }
        }
    }
}
