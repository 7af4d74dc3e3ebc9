// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.Function;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Library;
import com.kenai.jffi.MemoryIO;
import com.kenai.jffi.Type;
import java.nio.charset.Charset;

/**
 * The functions of the C library that shared memory and descriptors need, under their C names.
 *
 * <p>They are called through jffi itself. An interface of jnr-ffi would have a process without an RDMA device, which
 * calls nothing else that is native, load some hundreds of classes at its start and compile one.
 *
 * <p><b>Threading:</b> thread-safe, as the functions are. {@code errno} is saved per thread by jffi on each call; read
 * it through {@link NativeException#lastErrno()} before the next native call.
 *
 * <p><b>Ownership:</b> every address passed must be alive for the call.
 *
 * <p><b>Source:</b> mmap(2), open(2), mkdir(2), fallocate(2), posix_fadvise(2), ftruncate(2), pread(2), flock(2),
 * madvise(2), geteuid(2), poll(2), fcntl(2), eventfd(2), sigaction(2), setenv(3); constants from asm-generic and
 * linux/falloc.h, which x86-64 and aarch64 share unless noted; off_t and ssize_t have 64 bits there.
 */
public final class LibC {
    public static final int O_RDONLY = 0;
    public static final int O_RDWR = 2;
    public static final int O_CREAT = 0x40;
    public static final int O_EXCL = 0x80;
    public static final int O_CLOEXEC = 0x80000;
    /** Fails with ELOOP where the last part of a path is a symbolic link. Another bit on aarch64. */
    public static final int O_NOFOLLOW = "aarch64".equals(System.getProperty("os.arch")) ? 0x8000 : 0x20000;

    public static final int PROT_READ = 1;
    public static final int PROT_WRITE = 2;
    public static final int MAP_SHARED = 1;
    public static final int MAP_ANONYMOUS = 0x20;

    /** Result of mmap on failure. */
    public static final long MAP_FAILED = -1;

    public static final int MADV_HUGEPAGE = 14;
    /** Since Linux 5.14. */
    public static final int MADV_POPULATE_WRITE = 23;

    public static final int FALLOC_FL_KEEP_SIZE = 1;
    public static final int FALLOC_FL_PUNCH_HOLE = 2;

    public static final int POSIX_FADV_WILLNEED = 3;

    public static final int LOCK_SH = 1;
    public static final int LOCK_EX = 2;
    public static final int LOCK_NB = 4;

    public static final int POLLIN = 1;
    public static final int POLLERR = 8;
    public static final int POLLHUP = 16;

    public static final int F_GETFL = 3;
    public static final int F_SETFL = 4;
    public static final int O_NONBLOCK = 0x800;

    public static final int EFD_NONBLOCK = 0x800;
    public static final int EFD_CLOEXEC = 0x80000;

    public static final int SIGILL = 4;
    public static final int SIGBUS = 7;
    public static final int SIGFPE = 8;
    public static final int SIGSEGV = 11;

    public static final int AF_INET = 2;
    public static final int AF_INET6 = 10;

    private final Invoker invoker = Invoker.getInstance();
    private final MemoryIO memory = MemoryIO.getInstance();
    private final Function open = function("open", Type.SINT, Type.POINTER, Type.SINT, Type.UINT32);
    private final Function mkdir = function("mkdir", Type.SINT, Type.POINTER, Type.UINT32);
    private final Function close = function("close", Type.SINT, Type.SINT);
    private final Function fallocate = function("fallocate", Type.SINT, Type.SINT, Type.SINT, Type.SINT64, Type.SINT64);
    private final Function posixFadvise =
            function("posix_fadvise", Type.SINT, Type.SINT, Type.SINT64, Type.SINT64, Type.SINT);
    private final Function ftruncate = function("ftruncate", Type.SINT, Type.SINT, Type.SINT64);
    private final Function pread = function("pread", Type.SINT64, Type.SINT, Type.POINTER, Type.ULONG, Type.SINT64);
    private final Function pwrite = function("pwrite", Type.SINT64, Type.SINT, Type.POINTER, Type.ULONG, Type.SINT64);
    private final Function mmap =
            function("mmap", Type.POINTER, Type.POINTER, Type.ULONG, Type.SINT, Type.SINT, Type.SINT, Type.SINT64);
    private final Function munmap = function("munmap", Type.SINT, Type.POINTER, Type.ULONG);
    private final Function madvise = function("madvise", Type.SINT, Type.POINTER, Type.ULONG, Type.SINT);
    private final Function flock = function("flock", Type.SINT, Type.SINT, Type.SINT);
    private final Function geteuid = function("geteuid", Type.UINT32);
    private final Function getpagesize = function("getpagesize", Type.SINT);
    private final Function poll = function("poll", Type.SINT, Type.POINTER, Type.ULONG, Type.SINT);
    private final Function fcntl = function("fcntl", Type.SINT, Type.SINT, Type.SINT, Type.ULONG);
    private final Function eventfd = function("eventfd", Type.SINT, Type.UINT32, Type.SINT);
    private final Function read = function("read", Type.SINT64, Type.SINT, Type.POINTER, Type.ULONG);
    private final Function write = function("write", Type.SINT64, Type.SINT, Type.POINTER, Type.ULONG);
    private final Function sigaction = function("sigaction", Type.SINT, Type.SINT, Type.POINTER, Type.POINTER);
    private final Function setenv = function("setenv", Type.SINT, Type.POINTER, Type.POINTER, Type.SINT);
    private final Function strerror = function("strerror", Type.POINTER, Type.SINT);

    private LibC() {}

    /** The library, bound once on first use; a load failure keeps its cause. */
    public static LibC load() {
        return Holder.LIBC;
    }

    /** The JVM itself is linked against the C library, so it is loaded already. */
    private static Function function(String name, Type returned, Type... parameters) {
        long address = Library.getDefault().getSymbolAddress(name);
        if (address == 0) {
            throw new UnsatisfiedLinkError("the C library lacks " + name + ": " + Library.getLastError());
        }
        return new Function(address, returned, parameters);
    }

    public int open(String path, int flags, int mode) {
        long terminated = terminated(path);
        try {
            return (int) invoker.invokeNNNrN(open, terminated, flags, mode);
        } finally {
            memory.freeMemory(terminated);
        }
    }

    public int mkdir(String path, int mode) {
        long terminated = terminated(path);
        try {
            return (int) invoker.invokeNNrN(mkdir, terminated, mode);
        } finally {
            memory.freeMemory(terminated);
        }
    }

    /** Copies a path to native memory, which the caller frees. */
    private long terminated(String path) {
        byte[] text = path.getBytes(Charset.defaultCharset());
        long terminated = memory.allocateMemory(text.length + 1, true);
        if (terminated == 0) {
            throw new OutOfMemoryError("no native memory for a path of " + text.length + " bytes");
        }
        memory.putByteArray(terminated, text, 0, text.length);
        return terminated;
    }

    public int close(int fd) {
        return (int) invoker.invokeNrN(close, fd);
    }

    public int fallocate(int fd, int mode, long offset, long length) {
        return (int) invoker.invokeNNNNrN(fallocate, fd, mode, offset, length);
    }

    /** Returns an error number, and leaves {@code errno} alone. */
    public int posixFadvise(int fd, long offset, long length, int advice) {
        return (int) invoker.invokeNNNNrN(posixFadvise, fd, offset, length, advice);
    }

    public int ftruncate(int fd, long length) {
        return (int) invoker.invokeNNrN(ftruncate, fd, length);
    }

    /** Reads at an offset of its own: unlike a {@code FileChannel}, a thread's interrupt leaves the descriptor open. */
    public long pread(int fd, long buffer, long count, long offset) {
        return invoker.invokeNNNNrN(pread, fd, buffer, count, offset);
    }

    public long pwrite(int fd, long buffer, long count, long offset) {
        return invoker.invokeNNNNrN(pwrite, fd, buffer, count, offset);
    }

    /** Returns the address or {@link #MAP_FAILED}. */
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) {
        return invoker.invokeNNNNNNrN(mmap, address, length, protection, flags, fd, offset);
    }

    /** Maps a whole file from its start, wherever there is room; returns the address or {@link #MAP_FAILED}. */
    public static long mapFile(long length, int protection, int flags, int fd) {
        return load().mmap(0, length, protection, flags, fd, 0);
    }

    /** Maps zeroed pages that no file is behind and that children share; returns the address or {@link #MAP_FAILED}. */
    public static long mapShared(long length) {
        return load().mmap(0, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }

    public int munmap(long address, long length) {
        return (int) invoker.invokeNNrN(munmap, address, length);
    }

    public int madvise(long address, long length, int advice) {
        return (int) invoker.invokeNNNrN(madvise, address, length, advice);
    }

    public int flock(int fd, int operation) {
        return (int) invoker.invokeNNrN(flock, fd, operation);
    }

    public int geteuid() {
        return (int) invoker.invokeVrN(geteuid);
    }

    public int getpagesize() {
        return (int) invoker.invokeVrN(getpagesize);
    }

    /** Waits on an array of {@code pollfd}; returns how many are ready, 0 after the timeout, or -1. */
    public int poll(long fds, long count, int timeoutMillis) {
        return (int) invoker.invokeNNNrN(poll, fds, count, timeoutMillis);
    }

    /** Variadic in C; on x86-64 and aarch64 Linux an integer argument travels the same way. */
    public int fcntl(int fd, int command, long argument) {
        return (int) invoker.invokeNNNrN(fcntl, fd, command, argument);
    }

    public int eventfd(int initialValue, int flags) {
        return (int) invoker.invokeNNrN(eventfd, initialValue, flags);
    }

    public long read(int fd, long buffer, long count) {
        return invoker.invokeNNNrN(read, fd, buffer, count);
    }

    public long write(int fd, long buffer, long count) {
        return invoker.invokeNNNrN(write, fd, buffer, count);
    }

    /** Stores the present action of a signal, and sets another; either address may be 0. */
    public int sigaction(int signal, long action, long before) {
        return (int) invoker.invokeNNNrN(sigaction, signal, action, before);
    }

    /** Sets a variable of the environment. Not thread-safe: no other thread may read the environment meanwhile. */
    public int setenv(String name, String value, boolean overwrite) {
        long nameText = terminated(name);
        try {
            long valueText = terminated(value);
            try {
                return (int) invoker.invokeNNNrN(setenv, nameText, valueText, overwrite ? 1 : 0);
            } finally {
                memory.freeMemory(valueText);
            }
        } finally {
            memory.freeMemory(nameText);
        }
    }

    public String strerror(int errno) {
        long text = invoker.invokeNrN(strerror, errno);
        return new String(memory.getZeroTerminatedByteArray(text), Charset.defaultCharset());
    }

    /** Binds on first use of {@link #load}: reading a constant loads no native code. */
    private static final class Holder {
        private static final LibC LIBC = new LibC();

        private Holder() {}
    }
}
