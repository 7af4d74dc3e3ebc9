// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A range of a file of the disk tier, read by system calls: an error of the disk, or a file that another process has
 * truncated, is an {@link IOException} and never a signal.
 *
 * @param file where the bytes are
 * @param offset first byte within the file
 * @param lengthBytes bytes in the range; the file may end earlier, which shows when it is read
 */
public record FileSlice(DiskFile file, long offset, long lengthBytes) implements StoredSlice {
    /** Returns a file from its first byte on, however long it may become. */
    public static FileSlice all(DiskFile file) {
        return new FileSlice(file, 0, Long.MAX_VALUE);
    }

    @Override
    public FileSlice slice(long start, long length) {
        Objects.checkFromIndexSize(start, length, lengthBytes);
        return new FileSlice(file, offset + start, length);
    }

    @Override
    public StoredSlice inMemory() throws IOException {
        byte[] copy = new byte[Math.toIntExact(lengthBytes)];
        getBytes(0, copy, 0, copy.length);
        return new HeapSlice(copy);
    }

    @Override
    public void getBytes(long start, byte[] target, int targetOffset, int length) throws IOException {
        Objects.checkFromIndexSize(start, length, lengthBytes);
        Objects.checkFromIndexSize(targetOffset, length, target.length);
        file.read(offset + start, target, targetOffset, length);
    }

    @Override
    public void copyToAddress(long address) throws IOException {
        file.read(offset, new MemorySlice(address, lengthBytes));
    }

    /** Asks the kernel to read this range ahead, and does not wait for it. */
    public void readAhead() {
        file.readAhead(offset, lengthBytes);
    }

    /** Writes all of {@code source} at the start of this range. */
    public void write(MemorySlice source) throws IOException {
        Objects.checkFromIndexSize(0, source.lengthBytes(), lengthBytes);
        file.write(offset, source);
    }

    @Override
    public int getInt(long start) throws IOException {
        return slice(start, Integer.BYTES).inMemory().getInt(0);
    }

    @Override
    public long getLong(long start) throws IOException {
        return slice(start, Long.BYTES).inMemory().getLong(0);
    }

    /** Returns the file's path, for those who open it themselves. */
    public Path path() {
        return file.path();
    }
}
