// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Spark's shuffle files in a test directory, and a driver that records reports. */
final class FakeMigrationTarget implements MigrationTarget {
    private final Path folder;
    private final Map<OutputKey, long[]> committed = new HashMap<>();
    private final List<OutputKey> reported = new ArrayList<>();
    private boolean full;
    private Runnable beforeCommit = () -> {};

    FakeMigrationTarget(Path folder) {
        this.folder = folder;
    }

    void setFull() {
        full = true;
    }

    void beforeCommit(Runnable action) {
        beforeCommit = action;
    }

    List<OutputKey> reported() {
        return reported;
    }

    long @Nullable [] lengths(OutputKey key) {
        return committed.get(key);
    }

    byte[] data(OutputKey key) throws IOException {
        return Files.readAllBytes(dataFile(key));
    }

    /** Files that are there now, temporary ones and committed ones. */
    int files() {
        try (Stream<Path> files = Files.list(folder)) {
            return (int) files.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path dataFile(OutputKey key) {
        return folder.resolve(key.shuffleId() + "-" + key.mapId() + ".data");
    }

    @Override
    public void requireDiskRoom() throws IOException {
        if (full) {
            throw new IOException("the disk is full");
        }
    }

    @Override
    public File createDataFile(OutputKey key) {
        return folder.resolve("temp-" + System.nanoTime()).toFile();
    }

    @Override
    public void commitFiles(OutputKey key, long[] lengths, @Nullable File data) throws IOException {
        beforeCommit.run();
        if (data != null) {
            Files.move(data.toPath(), dataFile(key));
        }
        committed.put(key, lengths);
    }

    @Override
    public void removeFiles(OutputKey key) {
        committed.remove(key);
        try {
            Files.deleteIfExists(dataFile(key));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void report(OutputKey key, long dataBytes, long indexBytes) {
        reported.add(key);
    }
}
