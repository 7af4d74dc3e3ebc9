// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.Utils$;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/**
 * Tests that tasks which fail while writing or reading a direct shuffle leave nothing. {@code ExecutorFaultsIT} has
 * killed tasks.
 */
@Tag("system")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class TaskEndIT {
    private static final int RECORDS = 6_000;
    private static final int RECORD_BYTES = 4_000;
    private static final int TASKS = 2;

    /** Tasks of a local application run in this JVM. */
    private static final AtomicInteger TEMPORARY_FILES = new AtomicInteger();

    private static final AtomicInteger FAILED = new AtomicInteger();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path local;

    private SparkSession spark;
    private ShuffleObserver observer;

    /** Ten MB for all tasks, so that a map output of 24 MB has to be gathered in temporary files. */
    @BeforeEach
    void start() {
        Utils$.MODULE$.clearLocalRootDirs();
        TEMPORARY_FILES.set(0);
        FAILED.set(0);
        spark = LocalSpark.start(pools.conf(
                "spark.master",
                "local[" + TASKS + ",2]",
                "spark.serializer",
                "org.apache.spark.serializer.KryoSerializer",
                "spark.local.dir",
                local.toString(),
                "spark.testing.memory",
                "16777216",
                "spark.testing.reservedMemory",
                "0"));
        observer = new ShuffleObserver(spark.sparkContext());
    }

    @AfterEach
    void stop() throws IOException {
        spark.close();
        Utils$.MODULE$.clearLocalRootDirs();
    }

    private static int temporaryFiles(String local) {
        try (Stream<Path> files = Files.walk(Path.of(local))) {
            return (int) files.filter(file -> file.getFileName().toString().startsWith("temp_"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Has the first attempt of each task look for temporary files and end with an error half way. */
    private static boolean isToFail(int record) {
        return record == RECORDS / 2 && TaskContext.get().attemptNumber() == 0;
    }

    private static Iterator<Tuple2<Integer, byte[]>> records(Runnable halfWay) {
        return IntStream.range(0, RECORDS)
                .mapToObj(record -> {
                    if (isToFail(record)) {
                        halfWay.run();
                    }
                    byte[] bytes = new byte[RECORD_BYTES];
                    bytes[0] = 1;
                    return new Tuple2<>(record, bytes);
                })
                .iterator();
    }

    private JavaPairRDD<Integer, byte[]> shuffled(Halfway halfWay) {
        String directory = local.toString();
        return JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(List.of(0, 1), TASKS)
                .flatMapToPair(task -> records(() -> halfWay.run(directory)))
                .partitionBy(new HashPartitioner(TASKS));
    }

    /** What a map task does in the middle. */
    @FunctionalInterface
    private interface Halfway extends Serializable {
        void run(String localDirectory);
    }

    private static long sum(Iterator<Tuple2<Integer, byte[]>> read) {
        long sum = 0;
        while (read.hasNext()) {
            sum += read.next()._2()[0];
        }
        return sum;
    }

    private void assertNothingIsLeft() throws InterruptedException {
        assertThat(observer.statistics().total(ShuffleCounter.DIRECT_BYTES)).isPositive();
        assertThat(temporaryFiles(local.toString())).isZero();
        observer.assertAllComesBack();
    }

    /** Spark stops the writer of a task that throws an exception, but not of one that throws an error. */
    @Test
    void aMapTaskThatEndsWithAnErrorLeavesNothing() throws Exception {
        JavaPairRDD<Integer, byte[]> shuffled = shuffled(localDirectory -> {
            TEMPORARY_FILES.addAndGet(temporaryFiles(localDirectory));
            throw new AssertionError("half way through a map task, as the test wants it");
        });
        assertThat(shuffled.mapPartitions(read -> List.of(sum(read)).iterator()).collect().stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo((long) TASKS * RECORDS);
        assertThat(TEMPORARY_FILES).hasPositiveValue();
        assertNothingIsLeft();
    }

    @Test
    void aReduceTaskThatFailsLeavesNothing() throws Exception {
        JavaPairRDD<Integer, byte[]> shuffled = shuffled(localDirectory -> {});
        assertThat(shuffled
                        .mapPartitions(read -> {
                            long first = read.next()._2()[0];
                            if (TaskContext.get().attemptNumber() == 0) {
                                FAILED.incrementAndGet();
                                throw new AssertionError("after a reduce task's first record, as the test wants it");
                            }
                            return List.of(first + sum(read)).iterator();
                        })
                        .collect()
                        .stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo((long) TASKS * RECORDS);
        assertThat(FAILED).hasValue(TASKS);
        assertNothingIsLeft();
    }
}
