// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Open file of the disk tier, read and written by positioned system calls and never mapped: a disk error under a
 * mapping ends the process with SIGBUS, in a system call it is an error number.
 *
 * <p><b>Threading:</b> thread-safe. An interrupt of a task's thread leaves the descriptor open, which those of
 * {@code FileChannel} do not survive.
 *
 * <p><b>Ownership:</b> the creator closes it; the descriptor lives until the last reference is released, since the
 * kernel would give its number to another file.
 *
 * <p><b>Source:</b> pread(2), pwrite(2), fallocate(2), posix_fadvise(2), ftruncate(2).
 */
public final class DiskFile extends ReferenceCounted {
    private static final AtomicLong LIVE = new AtomicLong();
    private static final int PRIVATE_MODE = 0600;
    /** Of one system call; Linux transfers at most 2 GiB in one. */
    private static final long MAX_CALL_BYTES = 1L << 30;
    /** Of one advice: the kernel ignores bytes beyond the device's limit, which is seldom below this. */
    private static final long MAX_ADVICE_BYTES = 128 << 10;
    /** Of a range: after them the kernel sees that it is read in sequence. */
    private static final long MAX_AHEAD_BYTES = 1 << 20;

    private final Path path;
    private final int fd;

    private DiskFile(Path path, int fd) {
        this.path = path;
        this.fd = fd;
        LIVE.incrementAndGet();
    }

    /** Creates a file that must not exist, private to the user. */
    public static DiskFile create(Path path) throws IOException {
        return open(path, LibC.O_RDWR | LibC.O_CREAT | LibC.O_EXCL);
    }

    /**
     * Opens a file of a peer.
     *
     * @param uid user id of its owner
     * @throws IOException if it cannot be opened, or is not a private regular file of that user with one name
     */
    public static DiskFile openForReading(Path path, int uid) throws IOException {
        // A pipe of that name would otherwise keep the caller until a writer opens it.
        DiskFile opened = open(path, LibC.O_RDONLY | LibC.O_NONBLOCK);
        boolean proven = false;
        try {
            FileStatus status = FileStatus.of(opened.fd);
            proven = status.isRegular() && status.isPrivate() && status.uid() == uid && status.links() <= 1;
            if (!proven) {
                throw new IOException(path + " is not the private file of user " + uid + ": " + status);
            }
            return opened;
        } finally {
            if (!proven) {
                opened.close();
            }
        }
    }

    private static DiskFile open(Path path, int flags) throws IOException {
        int fd = LibC.load().open(path.toString(), flags | LibC.O_NOFOLLOW | LibC.O_CLOEXEC, PRIVATE_MODE);
        if (fd < 0) {
            throw failure("open(" + path + ")", NativeException.lastErrno());
        }
        return new DiskFile(path, fd);
    }

    /** Returns the path of the file, which may have been removed. */
    public Path path() {
        return path;
    }

    /** Reads exactly as many bytes as the target has. */
    void read(long position, MemorySlice target) throws IOException {
        retainOrFail();
        try {
            readAll(position, target.address(), target.lengthBytes());
        } finally {
            release();
        }
    }

    /** Reads into an array, through memory outside the heap that the thread keeps. */
    void read(long position, byte[] target, int offset, int length) throws IOException {
        retainOrFail();
        try {
            MemorySlice scratch = ThreadScratch.memory();
            for (int done = 0; done < length; ) {
                int piece = (int) Math.min(length - done, scratch.lengthBytes());
                readAll(position + done, scratch.address(), piece);
                RawMemory.getBytes(scratch.address(), target, offset + done, piece);
                done += piece;
            }
        } finally {
            release();
        }
    }

    private void readAll(long position, long address, long length) throws IOException {
        for (long done = 0; done < length; ) {
            long count = Math.min(length - done, MAX_CALL_BYTES);
            long read = LibC.load().pread(fd, address + done, count, position + done);
            if (read == 0) {
                throw new IOException(path + " ends before byte " + (position + length)
                        + ": it was truncated, or its owner has given the bytes back");
            }
            done += transferred("pread", read, count, position + done);
        }
    }

    /** Asks the kernel to read a range ahead, and does not wait for it. Failures show when it is read. */
    void readAhead(long position, long lengthBytes) {
        if (!retain()) {
            return;
        }
        try {
            long end = Math.min(lengthBytes, MAX_AHEAD_BYTES);
            for (long done = 0; done < end; done += MAX_ADVICE_BYTES) {
                long length = Math.min(end - done, MAX_ADVICE_BYTES);
                int unused = LibC.load().posixFadvise(fd, position + done, length, LibC.POSIX_FADV_WILLNEED);
            }
        } finally {
            release();
        }
    }

    /** Writes all of the source. */
    void write(long position, MemorySlice source) throws IOException {
        retainOrFail();
        try {
            for (long done = 0; done < source.lengthBytes(); ) {
                long count = Math.min(source.lengthBytes() - done, MAX_CALL_BYTES);
                long written = LibC.load().pwrite(fd, source.address() + done, count, position + done);
                done += transferred("pwrite", written, count, position + done);
            }
        } finally {
            release();
        }
    }

    /** Returns the bytes that a call has transferred, 0 if a signal came first. */
    private long transferred(String call, long result, long count, long position) throws IOException {
        if (result >= 0) {
            return result;
        }
        int errno = NativeException.lastErrno();
        if (Errno.EINTR.is(errno)) {
            return 0;
        }
        throw failure(call + "(" + path + ", length=" + count + ", offset=" + position + ")", errno);
    }

    /** Reserves blocks on disk; a file system that cannot do that says when it is full as it is written. */
    public void allocate(long offset, long lengthBytes) throws IOException {
        retainOrFail();
        try {
            int errno = FileBlocks.reserve(
                    (from, bytes) -> LibC.load().fallocate(fd, 0, from, bytes) == 0 ? 0 : NativeException.lastErrno(),
                    offset,
                    lengthBytes);
            if (errno != 0 && !Errno.EOPNOTSUPP.is(errno) && !Errno.ENOSYS.is(errno)) {
                throw failure("fallocate(" + path + ", offset=" + offset + ", length=" + lengthBytes + ")", errno);
            }
        } finally {
            release();
        }
    }

    /** Releases blocks to the file system, and their pages to the kernel; returns false if that is not supported. */
    public boolean punch(long offset, long lengthBytes) {
        int mode = LibC.FALLOC_FL_PUNCH_HOLE | LibC.FALLOC_FL_KEEP_SIZE;
        if (!retain()) {
            return false;
        }
        try {
            return LibC.load().fallocate(fd, mode, offset, lengthBytes) == 0;
        } finally {
            release();
        }
    }

    /** Cuts the file down to nothing. */
    public void truncate() throws IOException {
        retainOrFail();
        try {
            if (LibC.load().ftruncate(fd, 0) != 0) {
                throw failure("ftruncate(" + path + ", 0)", NativeException.lastErrno());
            }
        } finally {
            release();
        }
    }

    /** Returns the number of open files of this class in the process, for leak checks. */
    public static long live() {
        return LIVE.get();
    }

    private void retainOrFail() throws IOException {
        if (!retain()) {
            throw new IOException(path + " is closed");
        }
    }

    @Override
    protected void free() {
        // The last reference is gone, so no thread is inside a call on this descriptor.
        LibC.load().close(fd);
        LIVE.decrementAndGet();
    }

    private static IOException failure(String call, int errno) {
        return new IOException(call, new NativeException(call, errno, "see spark.local.dir"));
    }
}
