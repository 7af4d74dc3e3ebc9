// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import io.rdmashuffle.conf.ProjectFiles;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;

/** Files of the source tree, without build results and generated data. */
final class SourceTree {
    private SourceTree() {}

    /** Returns the root directory. */
    static Path root() {
        return ProjectFiles.path("");
    }

    /** Returns the files whose path, relative to the root, matches; sorted. */
    static List<String> files(Predicate<String> matches) throws IOException {
        Path root = root();
        List<String> found = new ArrayList<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                String name = directory.getFileName().toString();
                boolean skipped = !directory.equals(root) && (name.equals("target") || name.startsWith("."));
                return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String relative = root.relativize(file).toString();
                if (attributes.isRegularFile() && matches.test(relative)) {
                    found.add(relative);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        Collections.sort(found);
        return found;
    }
}
