// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The folders of one run: logs, which stay, and the local directories of Spark, which go.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing removes the local directories, as does the end of the
 * process.
 */
public final class RunFolders implements AutoCloseable {
    private final Path logs;
    private final Path disk;
    private final Path tmpfs;
    private final Thread atEnd = new Thread(this::removeQuietly, "remove-bench-folders");

    /**
     * Creates the directories.
     *
     * @param bench begins the name of the folder of logs
     * @param diskParent parent of local directories on disk; null for the folder of logs
     * @param tmpfsParent parent of local directories in memory
     */
    public RunFolders(Workspace workspace, String bench, @Nullable Path diskParent, Path tmpfsParent)
            throws IOException {
        Path parent = Files.createDirectories(workspace.target("benchmarks").resolve("bench"));
        this.logs = Files.createTempDirectory(parent, bench + "-");
        this.disk = Files.createTempDirectory(diskParent == null ? logs : diskParent.toAbsolutePath(), "rdma-bench-");
        this.tmpfs = Files.createTempDirectory(tmpfsParent.toAbsolutePath(), "rdma-bench-");
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    /** Returns the folder of the logs. */
    public Path logs() {
        return logs;
    }

    /** Returns the file that takes an application's log. */
    public Path log(String application) {
        return logs.resolve(application + ".log");
    }

    /** Returns the folder of an application's garbage collection logs. */
    public GarbageLog garbage(String application) throws IOException {
        return new GarbageLog(Files.createDirectories(logs.resolve(application + "-gc")));
    }

    /** Returns an application's {@code spark.local.dir}. */
    public Path local(String application, boolean inMemory) throws IOException {
        return Files.createDirectories((inMemory ? tmpfs : disk).resolve(application));
    }

    /** Describes the file systems of the files. */
    public String fileSystems() throws IOException {
        return "local directories: " + type(disk) + " for sort-disk and ours, " + type(tmpfs)
                + " for sort-tmpfs and sort-bare";
    }

    private static String type(Path folder) throws IOException {
        return Files.getFileStore(folder).type();
    }

    @Override
    public void close() throws IOException {
        Runtime.getRuntime().removeShutdownHook(atEnd);
        remove();
    }

    private void removeQuietly() {
        try {
            remove();
        } catch (IOException e) {
            System.err.println("cannot remove " + disk + " or " + tmpfs + ": " + e.getMessage());
        }
    }

    private void remove() throws IOException {
        Workspace.deleteTree(disk);
        Workspace.deleteTree(tmpfs);
    }
}
