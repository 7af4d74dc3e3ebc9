// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.contention;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;

/**
 * What threads that use one structure at once achieve.
 *
 * <p><b>Source:</b> jdk.jfr, events jdk.JavaMonitorEnter and jdk.ThreadPark.
 *
 * @param operationsPerSecond of all threads together
 * @param blockedShare part of the threads' time for which they were blocked
 */
record Contention(String name, int threads, double operationsPerSecond, double blockedShare) {
    private static final String PREFIX = "contention-";
    private static final List<String> EVENTS = List.of("jdk.JavaMonitorEnter", "jdk.ThreadPark");

    /** Shorter ones are as many as operations, and recording them would be most of the work. */
    private static final Duration LEAST = Duration.ofNanos(20_000);

    private static final long WARM_UP_SECONDS = 1;
    private static final int TURNS_BETWEEN_LOOKS = 64;

    /** Measures a structure for some seconds. */
    static Contention measure(Structure structure, int threads, int seconds) throws Exception {
        try (Workers workers = new Workers(structure, threads)) {
            workers.awaitSeconds(WARM_UP_SECONDS);
            Path file = Files.createTempFile("contention", ".jfr");
            try (Recording recording = new Recording()) {
                EVENTS.forEach(
                        event -> recording.enable(event).withThreshold(LEAST).withoutStackTrace());
                recording.start();
                long before = workers.operations();
                long began = System.nanoTime();
                workers.awaitSeconds(seconds);
                long nanos = System.nanoTime() - began;
                long operations = workers.operations() - before;
                recording.stop();
                recording.dump(file);
                return new Contention(
                        structure.name(),
                        threads,
                        operations * 1e9 / nanos,
                        (double) blockedNanos(file) / nanos / threads);
            } finally {
                Files.delete(file);
            }
        }
    }

    private static long blockedNanos(Path file) throws IOException {
        long nanos = 0;
        try (RecordingFile events = new RecordingFile(file)) {
            while (events.hasMoreEvents()) {
                RecordedEvent event = events.readEvent();
                RecordedThread thread = event.getThread();
                String name = thread == null ? null : thread.getJavaName();
                if (EVENTS.contains(event.getEventType().getName()) && name != null && name.startsWith(PREFIX)) {
                    nanos += event.getDuration().toNanos();
                }
            }
        }
        return nanos;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%s, %d threads: %,.0f operations/s, blocked %.1f %%",
                name,
                threads,
                operationsPerSecond,
                100 * blockedShare);
    }

    /**
     * Threads that use the structure until they are closed.
     *
     * <p><b>Ownership:</b> owns the threads.
     */
    private static final class Workers implements AutoCloseable {
        private static final long END_MILLIS = 30_000;

        private final List<Thread> threads = new ArrayList<>();
        private final LongAdder operations = new LongAdder();
        private final CountDownLatch failed = new CountDownLatch(1);
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        private volatile boolean stopped;

        Workers(Structure structure, int count) {
            for (int i = 0; i < count; i++) {
                Structure.Operation operation = structure.user().of(i);
                Thread thread = new Thread(() -> run(operation), PREFIX + i);
                thread.setDaemon(true);
                threads.add(thread);
            }
            threads.forEach(Thread::start);
        }

        private void run(Structure.Operation operation) {
            try {
                for (long turn = 0; !stopped; ) {
                    for (int i = 0; i < TURNS_BETWEEN_LOOKS; i++, turn++) {
                        operation.run(turn);
                    }
                    operations.add(TURNS_BETWEEN_LOOKS);
                }
            } catch (Exception | Error e) {
                failure.compareAndSet(null, e);
                failed.countDown();
            }
        }

        long operations() {
            return operations.sum();
        }

        void awaitSeconds(long seconds) throws InterruptedException {
            if (failed.await(seconds, TimeUnit.SECONDS)) {
                throw new IllegalStateException("a thread failed", failure.get());
            }
        }

        @Override
        public void close() {
            stopped = true;
            for (Thread each : threads) {
                try {
                    each.join(END_MILLIS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                if (each.isAlive()) {
                    throw new IllegalStateException(each.getName() + " does not end");
                }
            }
        }
    }
}
