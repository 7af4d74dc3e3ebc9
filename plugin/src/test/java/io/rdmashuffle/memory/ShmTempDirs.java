// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;
import org.slf4j.LoggerFactory;

/**
 * Temporary directories in /dev/shm, where pools belong. What tests that were killed have left there is removed: it is
 * memory of the machine.
 */
public final class ShmTempDirs implements TempDirFactory {
    private static final Path ROOT = Path.of("/dev/shm");
    private static final Pattern NAME = Pattern.compile("rdma-shuffle-test-(\\d+)-.*");

    static {
        removeThoseOfTheDead();
    }

    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws IOException {
        return Files.createTempDirectory(
                ROOT, "rdma-shuffle-test-" + ProcessHandle.current().pid() + "-");
    }

    private static void removeThoseOfTheDead() {
        try (Stream<Path> all = Files.list(ROOT)) {
            for (Path directory : all.toList()) {
                Matcher owner = NAME.matcher(directory.getFileName().toString());
                if (owner.matches()
                        && ProcessHandle.of(Long.parseLong(owner.group(1))).isEmpty()) {
                    removeTree(directory);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Another process may be removing the same one. */
    private static void removeTree(Path directory) {
        try (Stream<Path> tree = Files.walk(directory)) {
            for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException | UncheckedIOException e) {
            LoggerFactory.getLogger(ShmTempDirs.class).warn("Cannot remove {}", directory, e);
        }
    }
}
