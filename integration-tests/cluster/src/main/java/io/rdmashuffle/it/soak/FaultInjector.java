// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Injector of faults into one application, with counts of effective ones.
 *
 * <p><b>Threading:</b> the caller's thread between jobs; a separate thread otherwise.
 *
 * <p><b>Ownership:</b> owns its thread; closing resumes paused processes.
 */
final class FaultInjector implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofSeconds(1);
    private static final Duration LONG_PAUSE = Duration.ofSeconds(7);
    private static final Duration REPLY = Duration.ofSeconds(60);
    private static final int SIGNAL_SECONDS = 10;
    private static final int DAMAGED_PLACES = 24;
    private static final int TRIES = 20_000;

    private final SoakApplication application;
    private final Path poolDirectory;
    private final Random random;
    private final Map<Fault, Integer> injected = new EnumMap<>(Fault.class);
    private final ScheduledExecutorService thread;

    FaultInjector(SoakApplication application, Path poolDirectory, long seed) {
        this.application = application;
        this.poolDirectory = poolDirectory;
        this.random = new Random(seed);
        this.thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread created = new Thread(task, "soak-faults");
            created.setDaemon(true);
            return created;
        });
    }

    /** Does something to an executor a while from now. */
    ScheduledFuture<?> later(Fault fault, long delayMillis) {
        return thread.schedule(
                () -> {
                    inject(fault);
                    return null;
                },
                delayMillis,
                TimeUnit.MILLISECONDS);
    }

    /** Does something now. */
    synchronized void inject(Fault fault) throws IOException, InterruptedException {
        boolean met = switch (fault) {
            case KILLED -> victim().map(ProcessHandle::destroyForcibly).orElse(false);
            case TERMINATED -> victim().map(ProcessHandle::destroy).orElse(false);
            case PAUSED -> pause(PAUSE);
            case PAUSED_LONG -> pause(LONG_PAUSE);
            case DECOMMISSIONED ->
                application
                        .ask(SoakRequest.of(SoakRequest.Operation.DECOMMISSION), REPLY)
                        .ok();
            case DAMAGED -> damage();
            case UNLINKED -> unlink();
        };
        if (met) {
            injected.merge(fault, 1, Integer::sum);
        }
    }

    /** Returns how often each fault met something. */
    synchronized Map<Fault, Integer> injected() {
        return new EnumMap<>(injected);
    }

    private Optional<ProcessHandle> victim() {
        List<ProcessHandle> executors = application.executors();
        // The last one stays, so that every fault is one that a job can outlive at once.
        return executors.size() < 2 ? Optional.empty() : Optional.of(executors.get(random.nextInt(executors.size())));
    }

    private boolean pause(Duration length) throws IOException, InterruptedException {
        ProcessHandle victim = victim().orElse(null);
        if (victim == null || !signal(victim, "STOP")) {
            return false;
        }
        try {
            Thread.sleep(length.toMillis());
        } finally {
            signal(victim, "CONT");
        }
        return true;
    }

    private static boolean signal(ProcessHandle process, String name) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return kill.waitFor(SIGNAL_SECONDS, TimeUnit.SECONDS) && kill.exitValue() == 0;
    }

    /** Lists the files of pools, each in a directory of its pool; none if one ends meanwhile. */
    private List<Path> poolFiles() throws IOException {
        try (Stream<Path> files = Files.walk(poolDirectory, 2)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        } catch (UncheckedIOException ended) {
            return List.of();
        }
    }

    /** Overwrites bytes of one file that are not zero, so that mostly memory in use is met. */
    private boolean damage() throws IOException {
        List<Path> files = poolFiles();
        if (files.isEmpty()) {
            return false;
        }
        try {
            return damage(files.get(random.nextInt(files.size())));
        } catch (NoSuchFileException released) {
            return false;
        }
    }

    private boolean damage(Path damaged) throws IOException {
        int left = DAMAGED_PLACES;
        ByteBuffer one = ByteBuffer.allocate(1);
        try (FileChannel file = FileChannel.open(damaged, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            for (int i = 0; i < TRIES && left > 0 && file.size() > 0; i++) {
                long place = random.nextLong(file.size());
                file.read(one.clear(), place);
                byte value = one.get(0);
                if (value != 0) {
                    one.clear().put(0, (byte) (value ^ (1 + random.nextInt(255))));
                    file.write(one, place);
                    left--;
                }
            }
        }
        return left < DAMAGED_PLACES;
    }

    /** Deletes one executor's files, which have a directory of their own. */
    private boolean unlink() throws IOException {
        List<Path> files = poolFiles();
        if (files.isEmpty()) {
            return false;
        }
        Path pool = files.get(random.nextInt(files.size())).getParent();
        for (Path file : files) {
            if (file.startsWith(pool)) {
                Files.deleteIfExists(file);
            }
        }
        return true;
    }

    /** Waits for the fault under way, if any. */
    @Override
    public void close() {
        thread.shutdown();
        try {
            if (!thread.awaitTermination(LONG_PAUSE.plus(REPLY).toMillis(), TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("a fault is still being injected");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
