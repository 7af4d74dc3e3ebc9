// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.memory.slice.Mapping;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Regions as long as those of a large host, in files without a block: for tests that never touch their bytes. */
final class SparseRegions extends RegionFactory {
    private final Path directory;

    SparseRegions(PoolSettings settings) {
        super(settings, region -> {}, () -> Long.MAX_VALUE);
        this.directory = settings.directory();
    }

    @Override
    Path file(int id) {
        return directory.resolve("sparse-" + id);
    }

    @Override
    Mapping createFile(int id, long length) {
        Path file = file(id);
        try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
            sparse.setLength(length);
            int fd = LibC.load().open(file.toString(), LibC.O_RDONLY, 0);
            try {
                return Mapping.readOnly(fd, file, length);
            } finally {
                LibC.load().close(fd);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
