package io.rdmashuffle.memory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The unit in which a file system maps its files: the machine's page on tmpfs, the huge page on hugetlbfs. */
final class PageSize {
    private PageSize() {}

    /** Returns the page size in bytes of the file system that {@code directory} is on. */
    static long of(Path directory) {
        try {
            return Files.getFileStore(directory).getBlockSize();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot look at " + directory + "; set spark.shuffle.rdma.pool.directory to an existing tmpfs", e);
        }
    }
}
