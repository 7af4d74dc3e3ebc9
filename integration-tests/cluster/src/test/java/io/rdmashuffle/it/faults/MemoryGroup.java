// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A control group with the memory controller, in which each executor has a group of its own, as containers of YARN and
 * Kubernetes do.
 *
 * <p>A local cluster starts executors with the {@code java} of their {@code JAVA_HOME}; here that is a script which
 * enters a new group.
 *
 * <p>Needs root. <b>Threading:</b> one thread. <b>Ownership:</b> closing removes the groups, once their processes have
 * ended.
 *
 * <p><b>Source:</b> cgroups(7); memory.stat in the kernel's cgroup-v1/memory.rst and cgroup-v2.rst.
 */
final class MemoryGroup implements AutoCloseable {
    private static final Path VERSION_1 = Path.of("/sys/fs/cgroup/memory");
    private static final Path VERSION_2 = Path.of("/sys/fs/cgroup");
    private static final long END_SECONDS = 20;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Path path;
    /** The line of {@code memory.stat} with the shared memory of a group and of all below it. */
    private final String sharedMemory;

    private MemoryGroup(Path path, String sharedMemory) {
        this.path = path;
        this.sharedMemory = sharedMemory;
    }

    /** Makes one, or skips the test where that is not allowed. */
    static MemoryGroup make() throws IOException {
        boolean isFirst = Files.isDirectory(VERSION_1);
        Path path = (isFirst ? VERSION_1 : VERSION_2)
                .resolve("rdma-it-" + ThreadLocalRandom.current().nextInt(1_000_000));
        try {
            if (!isFirst) {
                Files.writeString(VERSION_2.resolve("cgroup.subtree_control"), "+memory");
            }
            Files.createDirectory(path);
            if (!isFirst) {
                Files.writeString(path.resolve("cgroup.subtree_control"), "+memory");
            }
        } catch (IOException e) {
            Files.deleteIfExists(path);
            Commands.skip(e);
        }
        return new MemoryGroup(path, isFirst ? "total_shmem " : "shmem ");
    }

    /** Writes the script that starts executors here; returns their {@code JAVA_HOME}. */
    Path writeJava(Path javaHome) throws IOException {
        Path java = Files.createDirectories(javaHome.resolve("bin")).resolve("java");
        Files.writeString(java, """
                #!/bin/bash
                # Starts an executor in a control group of its own.
                mkdir "%1$s/$$" && echo $$ >"%1$s/$$/cgroup.procs" && exec "%2$s" "$@"
                """.formatted(path, Path.of(System.getProperty("java.home"), "bin", "java")));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        return javaHome;
    }

    /** Returns the bytes of shared memory that are charged to executors, those of ended ones included. */
    long sharedBytes() {
        try {
            List<String> lines = Files.readAllLines(path.resolve("memory.stat"));
            return lines.stream()
                    .filter(line -> line.startsWith(sharedMemory))
                    .mapToLong(line -> Long.parseLong(line.substring(sharedMemory.length())))
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes the group of a process that has ended, as a container manager does. */
    void remove(ProcessHandle ended) throws IOException {
        remove(path.resolve(Long.toString(ended.pid())));
    }

    /** A group stays busy for a moment after its last process. */
    private static void remove(Path group) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        while (true) {
            try {
                Files.deleteIfExists(group);
                return;
            } catch (IOException busy) {
                if (System.nanoTime() - deadline > 0) {
                    throw busy;
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }

    @Override
    public void close() throws IOException {
        try (DirectoryStream<Path> groups = Files.newDirectoryStream(path, Files::isDirectory)) {
            for (Path group : groups) {
                remove(group);
            }
        }
        remove(path);
    }
}
