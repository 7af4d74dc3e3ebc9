package io.rdmashuffle.it.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What a process holds of things that leak.
 *
 * <p><b>Source:</b> proc(5).
 *
 * @param descriptors open files
 * @param threads of the process
 */
record ProcessFootprint(long descriptors, long threads) {
    /** Thread pools of Spark and Netty grow to their size while they are used; what leaks with every job grows past this. */
    private static final int SLACK = 64;

    /** Looks at processes; those that are gone are left out. */
    static Map<Long, ProcessFootprint> of(List<ProcessHandle> processes) {
        Map<Long, ProcessFootprint> byPid = new HashMap<>();
        processes.forEach(process -> of(process).ifPresent(footprint -> byPid.put(process.pid(), footprint)));
        return byPid;
    }

    private static Optional<ProcessFootprint> of(ProcessHandle process) {
        Path proc = Path.of("/proc", Long.toString(process.pid()));
        try {
            return Optional.of(new ProcessFootprint(entries(proc.resolve("fd")), entries(proc.resolve("task"))));
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    private static long entries(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.count();
        }
    }

    /** Returns whether this is more than thread pools that fill up explain. */
    boolean isGrownFrom(ProcessFootprint earlier) {
        return descriptors > earlier.descriptors + SLACK || threads > earlier.threads + SLACK;
    }
}
