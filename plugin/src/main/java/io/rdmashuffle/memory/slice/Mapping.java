// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code MAP_SHARED} mapping of a file, unmapped when the owner has closed it and the last user has released it.
 *
 * <p>Unmapping under a reader would crash the JVM with SIGSEGV, so users {@link #retain()} it around each access that
 * may race with {@link #close()}.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Source:</b> mmap(2), munmap(2), madvise(2).
 */
public final class Mapping extends ReferenceCounted {
    private static final AtomicLong LIVE = new AtomicLong();

    private final MemorySlice memory;

    private Mapping(MemorySlice memory) {
        this.memory = memory;
        LIVE.incrementAndGet();
    }

    /** Maps {@code lengthBytes} of an open file for reading and writing; the descriptor may be closed afterwards. */
    public static Mapping readWrite(int fd, Path path, long lengthBytes) {
        return map(fd, path, lengthBytes, LibC.PROT_READ | LibC.PROT_WRITE);
    }

    /** Maps {@code lengthBytes} of an open file for reading only; the descriptor may be closed afterwards. */
    public static Mapping readOnly(int fd, Path path, long lengthBytes) {
        return map(fd, path, lengthBytes, LibC.PROT_READ);
    }

    private static Mapping map(int fd, Path path, long lengthBytes, int protection) {
        long address = LibC.mapFile(lengthBytes, protection, LibC.MAP_SHARED, fd);
        if (address == LibC.MAP_FAILED) {
            throw new NativeException(
                    "mmap(" + path + ", length=" + lengthBytes + ")",
                    NativeException.lastErrno(),
                    "lower spark.shuffle.rdma.pool.maxSize, or raise vm.max_map_count or the address space limit");
        }
        return new Mapping(new MemorySlice(address, lengthBytes));
    }

    /** Returns the mapped bytes; valid while a reference is held. */
    public MemorySlice memory() {
        return memory;
    }

    /**
     * Requests huge pages for the mapping, as far as the kernel has any. Has no effect on a file system without huge
     * pages or room, or before Linux 5.14.
     */
    public void populateHuge() {
        // The mapping is alive: the caller created it and has not closed it.
        if (LibC.load().madvise(memory.address(), memory.lengthBytes(), LibC.MADV_HUGEPAGE) == 0) {
            int ignored = LibC.load().madvise(memory.address(), memory.lengthBytes(), LibC.MADV_POPULATE_WRITE);
        }
    }

    /** Returns the number of open mappings of this class in the process, for leak checks. */
    public static long live() {
        return LIVE.get();
    }

    @Override
    protected void free() {
        // The last reference is gone, so no thread can be inside this memory.
        if (LibC.load().munmap(memory.address(), memory.lengthBytes()) != 0) {
            throw new NativeException("munmap(length=" + memory.lengthBytes() + ")", NativeException.lastErrno(), "");
        }
        LIVE.decrementAndGet();
    }
}
