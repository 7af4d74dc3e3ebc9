// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import jnr.ffi.LibraryLoader;
import jnr.ffi.Pointer;
import jnr.ffi.annotations.In;
import jnr.ffi.types.mode_t;
import jnr.ffi.types.off_t;
import jnr.ffi.types.size_t;
import jnr.ffi.types.ssize_t;
import jnr.ffi.types.u_int32_t;
import jnr.ffi.types.uintptr_t;
import org.jspecify.annotations.Nullable;

/**
 * The functions of the C library that shared memory and descriptors need, under their C names.
 *
 * <p><b>Threading:</b> thread-safe, as the functions are. {@code errno} is saved per thread by jnr-ffi on each call;
 * read it through {@link NativeException#lastErrno()} before the next native call.
 *
 * <p><b>Source:</b> mmap(2), open(2), fallocate(2), ftruncate(2), pread(2), flock(2), madvise(2), geteuid(2), poll(2),
 * fcntl(2), eventfd(2); constants from asm-generic and linux/falloc.h, which x86-64 and aarch64 share unless noted.
 */
public interface LibC {
    int O_RDONLY = 0;
    int O_RDWR = 2;
    int O_CREAT = 0x40;
    int O_EXCL = 0x80;
    int O_CLOEXEC = 0x80000;

    int PROT_READ = 1;
    int PROT_WRITE = 2;
    int MAP_SHARED = 1;
    int MAP_ANONYMOUS = 0x20;

    /** What mmap returns on failure. */
    long MAP_FAILED = -1;

    int MADV_HUGEPAGE = 14;
    /** Since Linux 5.14. */
    int MADV_POPULATE_WRITE = 23;

    int FALLOC_FL_KEEP_SIZE = 1;
    int FALLOC_FL_PUNCH_HOLE = 2;

    int LOCK_EX = 2;
    int LOCK_NB = 4;

    int POLLIN = 1;
    int POLLERR = 8;
    int POLLHUP = 16;

    int F_GETFL = 3;
    int F_SETFL = 4;
    int O_NONBLOCK = 0x800;

    int EFD_NONBLOCK = 0x800;
    int EFD_CLOEXEC = 0x80000;

    int AF_INET = 2;
    int AF_INET6 = 10;

    /** The library, bound once on first use; a load failure keeps its cause. */
    static LibC load() {
        return Holder.LIBC;
    }

    int open(String path, int flags, @mode_t int mode);

    int close(int fd);

    int fallocate(int fd, int mode, @off_t long offset, @off_t long length);

    int ftruncate(int fd, @off_t long length);

    /** Reads at an offset of its own: unlike a {@code FileChannel}, a thread's interrupt leaves the descriptor open. */
    @ssize_t
    long pread(int fd, @uintptr_t long buffer, @size_t long count, @off_t long offset);

    @ssize_t
    long pwrite(int fd, @uintptr_t long buffer, @size_t long count, @off_t long offset);

    /**
     * Takes and returns pointers, unlike its neighbours: jnr-ffi 2.3.0 with jffi 1.4.0 compiles a stub for six numeric
     * parameters on x86-64 whose last ones arrive garbled (EINVAL here), and takes another way for objects.
     */
    @Nullable
    Pointer mmap(@Nullable Pointer address, @size_t long length, int protection, int flags, int fd, @off_t long offset);

    /** Maps a whole file from its start, wherever there is room; returns the address or {@link #MAP_FAILED}. */
    static long mapFile(long length, int protection, int flags, int fd) {
        Pointer mapped = load().mmap(null, length, protection, flags, fd, 0);
        return mapped == null ? MAP_FAILED : mapped.address();
    }

    /** Maps zeroed pages that no file is behind and that children share; returns the address or {@link #MAP_FAILED}. */
    static long mapShared(long length) {
        Pointer mapped = load().mmap(null, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return mapped == null ? MAP_FAILED : mapped.address();
    }

    int munmap(@uintptr_t long address, @size_t long length);

    int madvise(@uintptr_t long address, @size_t long length, int advice);

    int flock(int fd, int operation);

    @u_int32_t
    int geteuid();

    int getpagesize();

    /** Waits on an array of {@code pollfd}; returns how many are ready, 0 after the timeout, or -1. */
    int poll(@uintptr_t long fds, @size_t long count, int timeoutMillis);

    /** Variadic in C; on x86-64 and aarch64 Linux an integer argument travels the same way. */
    int fcntl(int fd, int command, @uintptr_t long argument);

    int eventfd(@u_int32_t int initialValue, int flags);

    @ssize_t
    long read(int fd, @uintptr_t long buffer, @size_t long count);

    @ssize_t
    long write(int fd, @uintptr_t long buffer, @size_t long count);

    String strerror(@In int errno);

    /** Binds on first use of {@link #load}: reading a constant loads no native code. */
    final class Holder {
        private static final LibC LIBC =
                LibraryLoader.create(LibC.class).failImmediately().load("c");

        private Holder() {}
    }
}
