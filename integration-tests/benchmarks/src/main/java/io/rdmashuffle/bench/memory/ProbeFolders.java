// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The folders of one run: logs, which stay, and what executors leave that were killed, which goes.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing removes local directories and pools, as does the end of
 * the process.
 *
 * @param classPath of executors: the plugin, and the classes of the jobs
 * @param logs of drivers
 * @param local Spark's local directory
 * @param pools the directory of pools
 */
record ProbeFolders(String classPath, Path logs, Path local, Path pools) implements AutoCloseable {
    /** Makes them. */
    static ProbeFolders create(Workspace workspace) throws IOException {
        Path parent = Files.createDirectories(workspace.target("benchmarks").resolve("bench"));
        Path logs = Files.createTempDirectory(parent, "memory-");
        ProbeFolders folders = new ProbeFolders(
                workspace.applicationClassPath("benchmarks"),
                logs,
                Files.createTempDirectory(logs, "local-"),
                Files.createTempDirectory(Path.of("/dev/shm"), "rdma-bench-"));
        Runtime.getRuntime().addShutdownHook(new Thread(folders::removeQuietly, "remove-bench-folders"));
        return folders;
    }

    /** Removes their contents except the logs; when no executor runs. */
    void clear() throws IOException {
        for (Path folder : List.of(local, pools)) {
            List<Path> left;
            try (Stream<Path> entries = Files.list(folder)) {
                left = entries.toList();
            }
            for (Path each : left) {
                Workspace.deleteTree(each);
            }
        }
    }

    private void removeQuietly() {
        try {
            close();
        } catch (IOException e) {
            System.err.println("cannot remove " + local + " or " + pools + ": " + e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        Workspace.deleteTree(local);
        Workspace.deleteTree(pools);
    }
}
