// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class GarbageLogTest {
    @Test
    void sumsFreedBytesOfAllProcesses(@TempDir Path folder) throws Exception {
        GarbageLog log = new GarbageLog(folder);
        assertThat(log.bytes()).isZero();
        Files.writeString(folder.resolve("gc-1.log"), """
                [0.012s][info][gc] Using G1
                [1.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 88M->20M(256M) 3.1ms
                [1.9s][info][gc] GC(1) Concurrent Mark Cycle 5.2ms
                [2.0s][info][gc] GC(1) Pause Remark 30M->31M(256M) 1.0ms
                """);
        Files.writeString(
                folder.resolve("gc-2.log"), "[3s][info][gc] GC(7) Pause Full (System.gc()) 1G->512K(2G) 1ms\n");
        assertThat(log.bytes()).isEqualTo((68L << 20) + (1L << 30) - (512L << 10));
    }

    @Test
    void theOptionNamesAFileForEachProcess() {
        assertThat(new GarbageLog(Path.of("/logs")).option()).isEqualTo("-Xlog:gc:file=/logs/gc-%p.log");
    }
}
