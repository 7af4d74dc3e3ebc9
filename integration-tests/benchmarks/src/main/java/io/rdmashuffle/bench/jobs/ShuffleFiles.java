// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Searches for files of Spark's sort shuffle. */
final class ShuffleFiles {
    private ShuffleFiles() {}

    /** Counts those below a folder; what disappears meanwhile is not counted. */
    static int count(Path folder) throws IOException {
        AtomicInteger found = new AtomicInteger();
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (String.valueOf(file.getFileName()).startsWith("shuffle_")) {
                    found.incrementAndGet();
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException gone) {
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException gone) {
                return FileVisitResult.CONTINUE;
            }
        });
        return found.get();
    }
}
