// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.it.LargeRecords.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Records that take most of the heap of a JVM of their own: where sort shuffle completes, so do we, with the same
 * records. The whole table: {@code -Dit.test=LargeRecordsIT -Dit.excludedGroups=none}.
 */
@Tag("system")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class LargeRecordsIT {
    private static final long TIMEOUT_SECONDS = 400;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path folder;

    /** Returns what a job has printed of its records; fails if the job does. */
    private String digest(ShuffleMode mode, String heap, Kind kind, long bytes, int records, int partitions)
            throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>(
                List.of(kind.name(), Long.toString(bytes), Integer.toString(records), Integer.toString(partitions)));
        Map<String, String> conf = pools.conf(
                "spark.local.dir", folder.toString(),
                "spark.sql.warehouse.dir", folder.resolve("warehouse").toString(),
                "spark.shuffle.rdma.pool.maxSize", "512m");
        conf.forEach((key, value) -> arguments.add(key + "=" + value));
        mode.conf().forEach((key, value) -> arguments.add(key + "=" + value));
        Path log = folder.resolve("log-" + mode);
        String classes = Path.of(LargeRecords.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .getPath())
                .toString();
        new JavaProcess(LargeRecords.class.getName(), arguments.toArray(String[]::new))
                .spark(SparkHome.of(Workspace.find()), JavaModuleOptions.defaultModuleOptions())
                .application(Workspace.find())
                .classPath(classes)
                .options("-Xmx" + heap)
                .run(log, TIMEOUT_SECONDS);
        return Files.readAllLines(log, StandardCharsets.UTF_8).stream()
                .filter(line -> line.startsWith("DIGEST"))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no digest in " + log));
    }

    private void assertAsSortShuffle(String heap, Kind kind, long bytes, int records, int partitions)
            throws IOException, InterruptedException {
        assertThat(digest(ShuffleMode.SHM, heap, kind, bytes, records, partitions))
                .isEqualTo(digest(ShuffleMode.SORT, heap, kind, bytes, records, partitions));
    }

    @Test
    void takesARecordOfMostOfTheHeap() throws Exception {
        assertAsSortShuffle("512m", Kind.KRYO, 240_000_000, 1, 5);
    }

    @Tag("long")
    @ParameterizedTest
    @CsvSource({
        "1g, KRYO, 280_000_000, 3, 5",
        "1g, KRYO, 600_000_000, 1, 5",
        "1g, JAVA, 280_000_000, 3, 5",
        "1g, ROW, 180_000_000, 2, 5",
        "1g, COMBINER, 280_000_000, 2, 5",
        "1g, MIXED, 280_000_000, 1, 5",
        "3g, KRYO, 2_500_000_000, 1, 200",
        "3g, JAVA, 2_500_000_000, 1, 5",
        "3g, COMBINER, 2_500_000_000, 1, 5"
    })
    void takesWhatSortShuffleTakes(String heap, Kind kind, String bytes, int records, int partitions) throws Exception {
        assertAsSortShuffle(heap, kind, Long.parseLong(bytes.replace("_", "")), records, partitions);
    }
}
