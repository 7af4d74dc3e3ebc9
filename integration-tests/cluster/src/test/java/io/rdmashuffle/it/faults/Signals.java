// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import io.rdmashuffle.harness.fixture.SparkCluster;
import java.time.Duration;

/** Signals to executors. */
final class Signals {
    private Signals() {}

    /** Pauses an executor for a while. */
    static void stop(SparkCluster cluster, int executor, Duration length) throws Exception {
        ProcessHandle victim = cluster.executorProcesses().get(executor);
        String pid = Long.toString(victim.pid());
        Commands.run("kill", "-STOP", pid);
        try {
            Thread.sleep(length.toMillis());
        } finally {
            Commands.run("kill", "-CONT", pid);
        }
    }
}
