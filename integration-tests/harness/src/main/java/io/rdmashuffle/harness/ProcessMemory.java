// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Physical memory that processes hold. Pages that several of them map, such as those of a pool, count once over all.
 *
 * <p><b>Source:</b> proc(5), field Pss of {@code /proc/PID/smaps_rollup}.
 */
public final class ProcessMemory {
    private static final String FIELD = "Pss:";
    private static final long KIBIBYTE = 1024;

    private ProcessMemory() {}

    /** Returns the bytes of all executors that a driver on this host started and that live. */
    public static long bytesOfExecutors(ProcessHandle driver) {
        return ProcessorTime.executors(driver).mapToLong(ProcessMemory::bytes).sum();
    }

    /** Returns the bytes of one process, 0 if it is gone. */
    static long bytes(ProcessHandle process) {
        try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(process.pid()), "smaps_rollup"))) {
            return lines.filter(line -> line.startsWith(FIELD))
                    .mapToLong(ProcessMemory::bytes)
                    .sum();
        } catch (IOException gone) {
            return 0;
        }
    }

    /** Reads a line such as {@code Pss:   1234 kB}. */
    static long bytes(String line) {
        String[] words = line.strip().split("\\s+", -1);
        return Long.parseLong(words[1]) * KIBIBYTE;
    }
}
