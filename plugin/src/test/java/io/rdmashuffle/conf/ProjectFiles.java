// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.nio.file.Files;
import java.nio.file.Path;

/** Finds files of the source tree, whether a test runs in the module or in the root of the project. */
public final class ProjectFiles {
    private ProjectFiles() {}

    public static Path path(String relative) {
        Path folder = Path.of("").toAbsolutePath();
        while (folder != null && !Files.exists(folder.resolve("config/checkstyle.xml"))) {
            folder = folder.getParent();
        }
        if (folder == null) {
            throw new IllegalStateException("run the tests inside the source tree");
        }
        return folder.resolve(relative);
    }
}
