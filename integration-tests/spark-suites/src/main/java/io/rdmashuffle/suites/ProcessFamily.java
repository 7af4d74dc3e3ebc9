// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A process and all that descend from it, those included whose parents have gone: they inherit a mark in their
 * environment.
 *
 * <p>Executors of a killed driver have no parent any more, so that the tree of processes does not lead to them.
 *
 * <p><b>Threading:</b> immutable.
 */
final class ProcessFamily {
    private static final String VARIABLE = "RDMASHUFFLE_SUITE_RUN";

    private static final long TIMEOUT_SECONDS = 10;

    private final String mark = UUID.randomUUID().toString();

    /** Marks a process before its start. */
    void adopt(ProcessBuilder builder) {
        builder.environment().put(VARIABLE, mark);
    }

    /** Kills the processes that are left and waits a while for them to end; returns how many there were. */
    int kill() {
        int killed = 0;
        // A process that is being created or executes another program has no environment for a moment.
        for (int round = 0; round < 3; round++) {
            List<ProcessHandle> members =
                    ProcessHandle.allProcesses().filter(this::isMember).toList();
            members.forEach(ProcessHandle::destroyForcibly);
            CompletableFuture<?>[] ends =
                    members.stream().map(ProcessHandle::onExit).toArray(CompletableFuture<?>[]::new);
            CompletableFuture.allOf(ends)
                    .completeOnTimeout(null, TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .join();
            killed += members.size();
        }
        return killed;
    }

    private boolean isMember(ProcessHandle process) {
        Path environment = Path.of("/proc", Long.toString(process.pid()), "environ");
        try {
            return new String(Files.readAllBytes(environment), StandardCharsets.ISO_8859_1)
                    .contains(VARIABLE + "=" + mark);
        } catch (IOException e) {
            // Gone, or of another user.
            return false;
        }
    }
}
