package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A directory for pools in shared memory, new for each test, in which no pool may leave a file.
 *
 * <p><b>Threading:</b> one test at a time. <b>Ownership:</b> JUnit makes and deletes it around each test.
 */
public final class PoolFolder implements BeforeEachCallback, AfterEachCallback {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private Path path = SHARED_MEMORY;

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        path = Files.createTempDirectory(SHARED_MEMORY, "rdma-it-");
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        assertThat(files()).isEmpty();
        Files.delete(path);
    }

    public Path path() {
        return path;
    }

    /** Returns the files of pools that live, or that somebody left. */
    public List<Path> files() {
        return filesIn(path);
    }

    /** Returns the files of pools in a directory. */
    public static List<Path> filesIn(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.getFileName().toString().startsWith("rdma-shuffle-"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns configuration that has pools here, and more: keys and values in turn. The map is the caller's. */
    public Map<String, String> conf(String... more) {
        Map<String, String> conf = new HashMap<>();
        conf.put("spark.shuffle.rdma.pool.directory", path.toString());
        for (int i = 0; i < more.length; i += 2) {
            conf.put(more[i], more[i + 1]);
        }
        return conf;
    }
}
