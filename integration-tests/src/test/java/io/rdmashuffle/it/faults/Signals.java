package io.rdmashuffle.it.faults;

import io.rdmashuffle.it.SparkCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Signals to executors. */
final class Signals {
    private static final int SECONDS = 10;

    private Signals() {}

    /** Lets an executor stand still for a while. */
    static void stop(SparkCluster cluster, int executor, Duration length) throws Exception {
        ProcessHandle victim = cluster.executorProcesses().get(executor);
        send(victim, "STOP");
        try {
            Thread.sleep(length.toMillis());
        } finally {
            send(victim, "CONT");
        }
    }

    private static void send(ProcessHandle process, String signal) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                .inheritIO()
                .start();
        if (!kill.waitFor(SECONDS, TimeUnit.SECONDS) || kill.exitValue() != 0) {
            throw new IOException("no SIG" + signal + " to process " + process.pid());
        }
    }
}
