// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/** Temporary directories in /dev/shm, where pools belong. */
public final class ShmTempDirs implements TempDirFactory {
    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws IOException {
        return Files.createTempDirectory(Path.of("/dev/shm"), "rdma-shuffle-test-");
    }
}
