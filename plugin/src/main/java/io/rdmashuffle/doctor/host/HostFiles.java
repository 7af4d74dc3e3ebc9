// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Files of the kernel, below a root that tests replace, and directories that this process writes to.
 *
 * <p><b>Threading:</b> stateless.
 *
 * @param root of the file system that {@link #read} looks into
 */
record HostFiles(Path root) {
    /** Returns the content of a file, named from the root; empty if it cannot be read. */
    String read(String path) {
        try {
            return Files.readString(root.resolve(path));
        } catch (IOException e) {
            return "";
        }
    }

    /** Returns the names in a folder, in order; none if it cannot be read. */
    List<String> list(String path) {
        try (var entries = Files.newDirectoryStream(root.resolve(path))) {
            List<String> names = new ArrayList<>();
            entries.forEach(entry -> names.add(String.valueOf(entry.getFileName())));
            names.sort(null);
            return names;
        } catch (IOException e) {
            return List.of();
        }
    }
}
