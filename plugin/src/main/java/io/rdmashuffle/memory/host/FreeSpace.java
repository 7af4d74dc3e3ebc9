// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Free space of a directory's file system.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> {@code hugetlbfs_statfs} in fs/hugetlbfs/inode.c; Documentation/admin-guide/mm/hugetlbpage.rst.
 */
public final class FreeSpace {
    private static final Path PAGES = Path.of("sys/kernel/mm/hugepages");

    private FreeSpace() {}

    /**
     * Returns the bytes that this user may still use.
     *
     * @throws IOException if the directory cannot be accessed
     */
    public static long of(Path directory) throws IOException {
        return of(Files.getFileStore(directory), Path.of("/"));
    }

    /**
     * Returns the free bytes below another root. A hugetlbfs mounted without a size reports no bytes: its files may use
     * the host's free, unreserved huge pages.
     *
     * @param root of the host's files
     */
    static long of(FileStore store, Path root) throws IOException {
        if (!store.type().equals("hugetlbfs") || store.getTotalSpace() > 0) {
            return store.getUsableSpace();
        }
        long page = store.getBlockSize();
        Path pages = root.resolve(PAGES).resolve("hugepages-" + page / 1024 + "kB");
        try {
            long free = number(pages.resolve("free_hugepages")) - number(pages.resolve("resv_hugepages"));
            return Math.max(0, free) * page;
        } catch (IOException | NumberFormatException e) {
            // The system does not tell. Nothing is logged: the doctor runs without Spark, and so without a logger.
            return 0;
        }
    }

    private static long number(Path file) throws IOException {
        return Long.parseLong(Files.readString(file).strip());
    }
}
