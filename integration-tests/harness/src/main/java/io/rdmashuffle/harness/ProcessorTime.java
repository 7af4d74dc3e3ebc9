// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * CPU time of processes, user and system: all threads count, including JIT compilers and GC, which Spark's task metrics
 * omit.
 *
 * <p><b>Source:</b> proc(5), fields utime and stime of {@code /proc/PID/stat}.
 */
public final class ProcessorTime {
    private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
    /** USER_HZ is 100 wherever Linux runs Java. */
    private static final long TICK_MILLIS = 10;
    /** Positions of utime and stime after the name, which is in brackets and may hold anything. */
    private static final int UTIME = 11;

    private static final int STIME = 12;

    private ProcessorTime() {}

    /** Returns the milliseconds of all executors that a driver on this host started and that live. */
    public static long millisOfExecutors(ProcessHandle driver) {
        return executors(driver).mapToLong(ProcessorTime::millis).sum();
    }

    /** Returns the executors that a driver on this host started and that live. */
    static Stream<ProcessHandle> executors(ProcessHandle driver) {
        return driver.descendants()
                .filter(child -> child.info().commandLine().orElse("").contains(EXECUTOR));
    }

    /** Returns what threads of a name have used of all executors that a driver on this host started and that live. */
    public static long millisOfExecutors(ProcessHandle driver, String thread) {
        return executors(driver)
                .mapToLong(child -> millisOfThreads(child, thread))
                .sum();
    }

    /** Returns what threads of a name, at most 15 characters, have used of a process; 0 if it is gone. */
    static long millisOfThreads(ProcessHandle process, String thread) {
        long sum = 0;
        try (DirectoryStream<Path> tasks =
                Files.newDirectoryStream(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (Path task : tasks) {
                sum += millisIfNamed(task, thread);
            }
        } catch (IOException | DirectoryIteratorException gone) {
            return sum;
        }
        return sum;
    }

    private static long millisIfNamed(Path task, String thread) {
        try {
            boolean named = Files.readString(task.resolve("comm")).strip().equals(thread);
            return named ? millis(Files.readString(task.resolve("stat"))) : 0;
        } catch (IOException gone) {
            return 0;
        }
    }

    /** Returns the milliseconds of one process, 0 if it is gone. */
    public static long millis(ProcessHandle process) {
        try {
            return millis(Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat")));
        } catch (IOException gone) {
            return 0;
        }
    }

    /** Reads the line of {@code stat}. */
    static long millis(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", -1);
        return TICK_MILLIS * (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME]));
    }
}
