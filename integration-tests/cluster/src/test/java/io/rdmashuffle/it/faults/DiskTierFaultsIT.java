// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of the disk tier when a disk is full or a file is damaged. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class DiskTierFaultsIT {
    /** Some 40 MB of map outputs. */
    private static final GroupedBytes JOB = new GroupedBytes(48, 6, 0);

    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    @TempDir
    Path disk;

    @BeforeEach
    @AfterEach
    void forgetLocalDirectories() {
        KindCluster.forgetLocalDirectories();
    }

    private static Map<String, String> conf(Path... localDirectories) {
        return new HashMap<>(Map.of(
                "spark.local.dir",
                String.join(",", Stream.of(localDirectories).map(Path::toString).toList()),
                "spark.shuffle.compress",
                "false",
                "spark.shuffle.rdma.directory.maxShuffles",
                "64",
                "spark.shuffle.rdma.pool.maxSize",
                "1m",
                "spark.shuffle.rdma.disk.minFree",
                "64m"));
    }

    /** A file system with less free space than {@code disk.minFree} gets no outputs; the other directory does. */
    @Test
    void fullLocalDirectoryIsReplacedByAnother() throws Exception {
        try (SmallMemory small = SmallMemory.mount("32m");
                SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf(small.path(), disk))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
            ClusterStatistics full = observer.statistics();
            assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
            assertThat(full.total(ShuffleCounter.DISK_USED_BYTES)).isGreaterThan(30 << 20);
            assertThat(filesIn(small.path())).isEmpty();
            Set<String> tiers = tiersIn(disk);
            assertThat(tiers).hasSize(executorsWithOutputsOnDisk(full));
            assertThat(tasks.failures()).isEmpty();
            observer.assertAllComesBack();
            assertThat(tiersIn(disk)).isEqualTo(tiers);
            assertThat(filesIn(disk)).allSatisfy(file -> assertThat(file).isEmptyFile());
        }
    }

    /** Another program cuts the files short: a mapping would end the executors with SIGBUS. */
    @Test
    void outputsInATruncatedFileAreWrittenAgain() throws Exception {
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf(disk))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark());
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            List<ProcessHandle> executors = cluster.executorProcesses();
            assertThat(tiersIn(disk)).hasSize(executorsWithOutputsOnDisk(observer.statistics()));
            for (Path file : filesIn(disk)) {
                assertThat(file).isNotEmptyFile();
                try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
                    open.setLength(4096);
                }
            }
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            assertThat(cluster.executorProcesses()).as("the same executors").isEqualTo(executors);
            observer.assertAllComesBack();
        }
    }

    /** One of two where a slow executor ran a single task, whose output the pool holds. */
    private static int executorsWithOutputsOnDisk(ClusterStatistics statistics) {
        long executors = statistics.byExecutor().values().stream()
                .filter(counters -> counters.getOrDefault(ShuffleCounter.MAP_OUTPUTS_ON_DISK, 0L) > 0)
                .count();
        assertThat(executors).isPositive();
        return (int) executors;
    }

    private static Set<String> tiersIn(Path directory) throws IOException {
        return filesIn(directory).stream().map(StoredRecords::tierOf).collect(Collectors.toSet());
    }

    private static List<Path> filesIn(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(StoredRecords::isOfDiskTier).toList();
        }
    }
}
