// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import io.rdmashuffle.it.soak.ApplicationPlan.Step;
import io.rdmashuffle.it.soak.SoakRequest.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One application of a soak from start to end.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns the application; the reference is the soak's.
 */
final class SoakRun {
    private static final Duration JOB = Duration.ofMinutes(4);
    private static final Duration DRAIN = Duration.ofMinutes(1);
    /** Spark's cached thread pools, of up to 128 threads each, let idle ones go after 60 s. */
    private static final Duration IDLE_THREADS = Duration.ofSeconds(75);

    private final Workspace workspace;
    private final Path folder;
    private final Path pools;
    private final ApplicationPlan plan;
    private final SoakApplication reference;
    private final SoakReport report;

    /**
     * Prepares to run.
     *
     * @param folder takes logs, and results that differ
     * @param pools where pools lie
     * @param reference runs the same jobs with sort shuffle
     */
    SoakRun(
            Workspace workspace,
            Path folder,
            Path pools,
            ApplicationPlan plan,
            SoakApplication reference,
            SoakReport report) {
        this.workspace = workspace;
        this.folder = folder;
        this.pools = pools;
        this.plan = plan;
        this.reference = reference;
        this.report = report;
    }

    /** Runs the application's jobs that start before {@code end}, then checks for leaks. */
    void run(long end) throws IOException, InterruptedException {
        Path log = folder.resolve("application-" + plan.number() + ".log");
        Files.writeString(log, plan + "\n");
        SoakApplication started;
        try {
            started = new SoakApplication(workspace, plan.conf(), log);
        } catch (IOException e) {
            report.failure(name() + ": " + e.getMessage());
            return;
        }
        List<ProcessHandle> executors;
        try (SoakApplication application = started) {
            FaultInjector faults = new FaultInjector(application, pools, plan.number());
            try (faults) {
                boolean alive = true;
                SettledExecutors settled = new SettledExecutors();
                for (int i = 0; alive && i < plan.steps().size() && System.nanoTime() < end; i++) {
                    alive = step(application, faults, i);
                    settled.look(application.executors());
                }
                if (alive) {
                    drained(application, settled);
                }
            }
            report.applicationEnded(faults.injected());
            executors = application.executors();
        }
        for (ProcessHandle executor : executors) {
            if (!endsSoon(executor)) {
                report.leak(name() + ": executor " + executor.pid() + " outlived its application");
                executor.destroyForcibly();
            }
        }
    }

    private String name() {
        return "application " + plan.number();
    }

    /** Runs a job twice; returns whether the application can run another. */
    private boolean step(SoakApplication application, FaultInjector faults, int index)
            throws IOException, InterruptedException {
        Step step = plan.steps().get(index);
        Path wanted = folder.resolve("wanted.txt");
        SoakReply right = reference.ask(new SoakRequest(Operation.RUN, step.job(), wanted.toString()), JOB);
        if (!right.ok()) {
            throw new IOException("sort shuffle failed at " + step.job() + ": " + right.error());
        }
        Fault during = step.during();
        Future<?> fault = during == null ? null : faults.later(during, (long) (step.when() * right.millis()));
        boolean fine = compare(application, index, Operation.RUN, wanted);
        if (fault != null) {
            await(fault);
        }
        Fault between = step.between();
        if (fine && between != null) {
            faults.inject(between);
            fine = compare(application, index, Operation.AGAIN, wanted);
        }
        return fine || application.isAlive();
    }

    private static void await(Future<?> fault) throws InterruptedException {
        try {
            fault.get(JOB.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException("a fault could not be injected", e);
        }
    }

    private boolean compare(SoakApplication application, int index, Operation operation, Path wanted)
            throws IOException, InterruptedException {
        Step step = plan.steps().get(index);
        String what = name() + ", step " + index + ", " + operation + ", " + step;
        Path got = folder.resolve("got.txt");
        Files.deleteIfExists(got);
        SoakReply reply = application.ask(
                new SoakRequest(operation, operation == Operation.RUN ? step.job() : null, got.toString()), JOB);
        if (!reply.ok()) {
            report.failure(what + ": " + reply.error());
            return false;
        }
        report.compared();
        if (Files.mismatch(wanted, got) >= 0) {
            String kept = plan.number() + "-" + index + "-" + operation;
            Files.copy(wanted, folder.resolve(kept + "-wanted.txt"));
            Files.copy(got, folder.resolve(kept + "-got.txt"));
            report.difference(what + "; results in " + kept + "-{wanted,got}.txt");
        }
        return true;
    }

    private void drained(SoakApplication application, SettledExecutors settled) throws InterruptedException {
        SoakReply held = application.ask(SoakRequest.of(Operation.DRAIN), DRAIN);
        if (!held.ok()) {
            report.failure(name() + " did not report its resources: " + held.error());
            return;
        }
        report.moved(held.counters());
        if (held.counters().getOrDefault(ShuffleMeter.SILENT_EXECUTORS, 0L) != 0) {
            report.failure(name() + ": an executor does not answer: " + held.counters());
        } else if (ShuffleMeter.isHeld(held.counters())) {
            report.leak(name() + " holds after its shuffles were dropped: " + held.counters());
        }
        Map<Long, String> grown = settled.grown(application.executors());
        for (int i = 0; !grown.isEmpty() && i < IDLE_THREADS.toSeconds(); i++) {
            Thread.sleep(1_000);
            grown = settled.grown(application.executors());
        }
        grown.forEach((pid, how) -> report.leak(name() + ", executor " + pid + ": " + how));
    }

    private static boolean endsSoon(ProcessHandle process) throws InterruptedException {
        try {
            process.onExit().get(20, TimeUnit.SECONDS);
            return true;
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }
}
