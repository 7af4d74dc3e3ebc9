// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.shuffle.format.RecordSink;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.UnifiedMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests against a model: a partition returns its added records, in order, spilled or not. */
@Tag("unit")
@Timeout(60)
class PartitionedRecordBufferTest {
    private static final int PARTITIONS = 37;
    private static final long HEAP_BYTES = 64 << 20;
    private static final long OFF_HEAP_BYTES = 24 << 20;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final List<ByteArrayOutputStream> model = new ArrayList<>();
    private final byte[] buffer = new byte[1_000];
    private boolean memoryGivenBack;

    @TempDir
    Path folder;

    private final TaskMetrics metrics = new TaskMetrics();

    private SpilledRecords spilled(SparkConf conf) {
        Iterator<Integer> numbers = IntStream.iterate(0, i -> i + 1).iterator();
        return new SpilledRecords(
                () -> folder.resolve("spilled-" + numbers.next()).toFile(), PARTITIONS, conf, metrics, null);
    }

    private static PartitionedRecordBuffer unspilled(TaskMemoryManager memory) {
        return new PartitionedRecordBuffer(memory, PARTITIONS, records -> {
            throw new AssertionError("there is memory for all");
        });
    }

    private static TaskMemoryManager memory(boolean offHeap) {
        SparkConf conf = new SparkConf(false)
                .set("spark.memory.offHeap.enabled", Boolean.toString(offHeap))
                .set("spark.memory.offHeap.size", Long.toString(OFF_HEAP_BYTES));
        return new TaskMemoryManager(new UnifiedMemoryManager(conf, HEAP_BYTES, 0, 1), 0);
    }

    @AfterEach
    void nothingIsHeld() {
        assertThat(memoryGivenBack).as("seed %d", seed).isTrue();
    }

    /** Mostly small records, some larger than the buffer, some than a page. */
    private byte[] record() {
        int most = random.nextInt(200) == 0 ? 200_000 : random.nextInt(20) == 0 ? 3_000 : 200;
        byte[] record = new byte[random.nextInt(most)];
        random.nextBytes(record);
        return record;
    }

    private void fillModel() {
        for (int p = 0; p < PARTITIONS; p++) {
            model.add(new ByteArrayOutputStream());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void recordsComeOutOfTheirPartitionsInOrder(boolean offHeap) throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(offHeap);
        PartitionedRecordBuffer records = unspilled(memory);
        for (int i = 0; i < 5_000; i++) {
            byte[] record = record();
            int partition = random.nextInt(PARTITIONS);
            if (random.nextBoolean()) {
                assertThat(records.add(partition, record, record.length)).isTrue();
            } else {
                assertThat(records.addPrefixed(partition, record, Platform.BYTE_ARRAY_OFFSET, record.length))
                        .isTrue();
                model.get(partition)
                        .write(ByteBuffer.allocate(4).putInt(record.length).array());
            }
            model.get(partition).write(record);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            // Twice, as the writer does when it makes checksums for a file.
            records.writeTo(OutputStream.nullOutputStream(), p, buffer);
            records.writeTo(out, p, buffer);
            assertThat(pieces(records, p)).isEqualTo(model.get(p).toByteArray());
            assertThat(records.recordBytes(p)).isEqualTo(model.get(p).size());
            assertThat(out.toByteArray())
                    .as("seed %d", seed)
                    .isEqualTo(model.get(p).toByteArray());
        }
        assertThat(records.peakBytes()).isEqualTo(records.getUsed()).isPositive();
        assertThat(records.heldBytes()).isGreaterThan(records.getUsed());
        records.close();
        records.close();
        assertThat(records.has(0)).isFalse();
        assertThat(records.heldBytes()).isZero();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void spillsToFilesWhenMemoryIsFull(boolean offHeap) throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(offHeap);
        SpilledRecords spilled = spilled(new SparkConf(false).set("spark.shuffle.spill.compress", "false"));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        for (int spills = 0; spills < 3; ) {
            byte[] record = new byte[10_000 + random.nextInt(10_000)];
            random.nextBytes(record);
            int partition = random.nextInt(PARTITIONS);
            if (!records.add(partition, record, record.length)) {
                long spilledBefore = spilled.recordBytes();
                long bytes = records.recordBytes();
                records.spillAll();
                assertThat(spilled.recordBytes() - spilledBefore).isEqualTo(bytes);
                spills++;
                assertThat(records.add(partition, record, record.length)).isTrue();
            }
            model.get(partition).write(record);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            // Twice, as the writer does when the pool refuses a started output.
            spilled.writeTo(OutputStream.nullOutputStream(), p, buffer);
            spilled.writeTo(out, p, buffer);
            assertThat(spilled.has(p)).isEqualTo(out.size() > 0);
            records.writeTo(out, p, buffer);
            assertThat(out.toByteArray())
                    .as("seed %d", seed)
                    .isEqualTo(model.get(p).toByteArray());
        }
        spilled.close();
        spilled.close();
        assertThat(folder).isEmptyDirectory();
        records.close();
        memoryGivenBack = memory.cleanUpAllAllocatedMemory() == 0;
    }

    private static byte[] pieces(PartitionedRecordBuffer records, int partition) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        records.writeTo(
                (base, offset, length) -> {
                    byte[] piece = new byte[length];
                    Platform.copyMemory(base, offset, piece, Platform.BYTE_ARRAY_OFFSET, length);
                    out.write(piece);
                },
                partition);
        return out.toByteArray();
    }

    @Test
    void emptyScratchAcceptsAnyRecord() throws IOException {
        TaskMemoryManager memory = memory(false);
        Operator other = new Operator(memory);
        assertThat(other.acquireMemory(HEAP_BYTES)).isEqualTo(HEAP_BYTES);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, taken -> {});
        byte[] record = new byte[3 << 20];
        random.nextBytes(record);
        for (int round = 0; round < 2; round++) {
            assertThat(records.add(round, record, record.length)).isTrue();
            assertThat(records.add(round, record, record.length)).isFalse();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            records.writeTo(out, round, buffer);
            assertThat(out.toByteArray()).isEqualTo(record);
            assertThat(records.spillAll())
                    .as("released bytes that Spark accounts for")
                    .isZero();
        }
        records.close();
        other.freeMemory(HEAP_BYTES);
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    /** Bytes of one record are held up to a limit, then spilled; what follows it stays behind it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void spillsARecordAboveItsLimit(boolean offHeap) throws IOException {
        fillModel();
        long limit = 1 << 20;
        TaskMemoryManager memory = memory(offHeap);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled, limit);
        byte[] large = new byte[(9 << 20) + 5];
        random.nextBytes(large);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 100; i++) {
                addRandom(records);
            }
            int partition = random.nextInt(PARTITIONS);
            for (int done = 0; done < large.length; ) {
                int part = Math.min(large.length - done, 1 + random.nextInt(RecordSink.MAX_PART_BYTES));
                records.append(partition, Arrays.copyOfRange(large, done, done + part), part, done);
                done += part;
                assertThat(records.recordBytes()).isLessThan(2 * limit);
            }
            model.get(partition).write(large);
            addRandom(records);
            records.appendPrefixed(partition, large, Platform.BYTE_ARRAY_OFFSET, large.length);
            assertThat(records.recordBytes()).isLessThan(2 * limit);
            model.get(partition)
                    .write(ByteBuffer.allocate(4).putInt(large.length).array());
            model.get(partition).write(large);
        }
        assertThat(spilled.recordBytes()).isGreaterThan(4 * (large.length - 2 * limit));
        assertAllThere(spilled, records);
        records.close();
        spilled.close();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    /** With no memory to be had, records larger than the first page pass through it. */
    @Test
    void takesAnyRecordInSmallPagesWithoutMemory() throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(false);
        Operator other = new Operator(memory);
        assertThat(other.acquireMemory(HEAP_BYTES)).isEqualTo(HEAP_BYTES);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        byte[] large = new byte[10 << 20];
        random.nextBytes(large);
        records.appendPrefixed(3, large, Platform.BYTE_ARRAY_OFFSET, large.length);
        assertThat(records.heldBytes()).isLessThan(2 << 20);
        model.get(3).write(ByteBuffer.allocate(4).putInt(large.length).array());
        model.get(3).write(large);
        assertAllThere(spilled, records);
        records.close();
        spilled.close();
        other.freeMemory(HEAP_BYTES);
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    /** Another consumer of the task's memory, such as a sort of the same stage. */
    private static class Operator extends MemoryConsumer {
        Operator(TaskMemoryManager memory) {
            super(memory, memory.pageSizeBytes(), memory.getTungstenMemoryMode());
        }

        @Override
        public long spill(long bytes, MemoryConsumer trigger) throws IOException {
            return 0;
        }
    }

    private void addRandom(PartitionedRecordBuffer records) throws IOException {
        byte[] record = record();
        int partition = random.nextInt(PARTITIONS);
        if (!records.add(partition, record, record.length)) {
            records.spillAll();
            assertThat(records.add(partition, record, record.length)).isTrue();
        }
        model.get(partition).write(record);
    }

    private void assertAllThere(SpilledRecords spilled, PartitionedRecordBuffer records) throws IOException {
        for (int p = 0; p < PARTITIONS; p++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            assertThat(spilled.has(p) || records.has(p)).isEqualTo(model.get(p).size() > 0);
            spilled.writeTo(out, p, buffer);
            records.writeTo(out, p, buffer);
            assertThat(out.toByteArray())
                    .as("seed %d", seed)
                    .isEqualTo(model.get(p).toByteArray());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherConsumerOfTheTaskGetsItsMemory(boolean offHeap) throws IOException {
        fillModel();
        long allBytes = offHeap ? OFF_HEAP_BYTES : HEAP_BYTES;
        TaskMemoryManager memory = memory(offHeap);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        Operator operator = new Operator(memory);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 5_000; i++) {
                addRandom(records);
            }
            long used = records.getUsed();
            long held = records.heldBytes();
            long countedBefore = metrics.memoryBytesSpilled();
            assertThat(used).as("seed %d", seed).isPositive();
            assertThat(operator.acquireMemory(allBytes)).isEqualTo(allBytes);
            assertThat(records.getUsed()).isZero();
            assertThat(metrics.memoryBytesSpilled() - countedBefore).isEqualTo(held);
            assertThat(metrics.diskBytesSpilled()).isPositive();
            operator.freeMemory(allBytes);
        }
        assertAllThere(spilled, records);
        records.close();
        spilled.close();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    /** Spark requests memory of others while it allocates a page, and their spills may request some, too. */
    @Test
    void theMemoryIsGivenWhileAPageIsAskedFor() throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(false);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        Operator third = new Operator(memory);
        long[] asked = new long[1];
        Operator operator = new Operator(memory) {
            @Override
            public long spill(long bytes, MemoryConsumer trigger) {
                if (trigger != records) {
                    return 0;
                }
                long got = third.acquireMemory(1 << 20);
                third.freeMemory(got);
                asked[0]++;
                long freed = Math.min(getUsed(), 2 << 20);
                freeMemory(freed);
                return freed;
            }
        };
        while (asked[0] < 20) {
            long free = HEAP_BYTES - memory.getMemoryConsumptionForThisTask();
            operator.acquireMemory(free);
            for (long before = asked[0]; asked[0] == before; ) {
                addRandom(records);
            }
        }
        assertThat(metrics.diskBytesSpilled()).isPositive();
        assertAllThere(spilled, records);
        records.close();
        spilled.close();
        operator.freeMemory(operator.getUsed());
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    /** As a thread does that feeds a Python worker: it runs the operators that come first in the same task. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherThreadOfTheTaskGetsItsMemory(boolean offHeap) throws Exception {
        fillModel();
        long allBytes = offHeap ? OFF_HEAP_BYTES : HEAP_BYTES;
        TaskMemoryManager memory = memory(offHeap);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        Operator operator = new Operator(memory);
        while (records.getUsed() == 0) {
            addRandom(records);
        }
        // The task's thread waits for what the worker makes of the rows that this one is about to make.
        assertThat(CompletableFuture.supplyAsync(() -> operator.acquireMemory(allBytes))
                        .join())
                .isEqualTo(allBytes);
        operator.freeMemory(allBytes);

        AtomicBoolean ended = new AtomicBoolean();
        AtomicInteger times = new AtomicInteger();
        CompletableFuture<Void> feeder = CompletableFuture.runAsync(() -> {
            while (!ended.get()) {
                if (records.getUsed() > 0) {
                    operator.freeMemory(operator.acquireMemory(allBytes));
                    times.incrementAndGet();
                }
            }
        });
        byte[] bytes = new byte[40_000];
        random.nextBytes(bytes);
        // On a busy machine the worker may not have had its turn by then.
        for (int i = 0; i < 20_000 || times.get() == 0; i++) {
            byte[] record = Arrays.copyOf(bytes, random.nextInt(bytes.length / 10));
            int partition = random.nextInt(PARTITIONS);
            if (!records.add(partition, record, record.length)) {
                records.spillAll();
                assertThat(records.add(partition, record, record.length)).isTrue();
            }
            model.get(partition).write(record);
        }
        ended.set(true);
        feeder.join();
        assertAllThere(spilled, records);
        records.close();
        spilled.close();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    @Test
    void recordsThatAreBeingWrittenOutStay() throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(false);
        SpilledRecords spilled = spilled(new SparkConf(false));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        for (int i = 0; i < 5_000; i++) {
            addRandom(records);
        }
        records.shut();
        long used = records.getUsed();
        Operator operator = new Operator(memory);
        assertThat(operator.acquireMemory(HEAP_BYTES)).isEqualTo(HEAP_BYTES - used);
        assertThat(records.getUsed()).isEqualTo(used);
        assertAllThere(spilled, records);
        assertThat(metrics.diskBytesSpilled()).isZero();
        records.close();
        operator.freeMemory(operator.getUsed());
        memoryGivenBack = memory.cleanUpAllAllocatedMemory() == 0;
    }

    @Test
    void recordsThatCannotBeSpilledStay() throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(false);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, taken -> {
            throw new IOException("No space left on device");
        });
        for (int i = 0; i < 5_000; i++) {
            addRandom(records);
        }
        Operator operator = new Operator(memory);
        assertThatThrownBy(() -> operator.acquireMemory(HEAP_BYTES))
                .isInstanceOf(SparkOutOfMemoryError.class)
                .hasMessageContaining("No space left on device");
        assertThatThrownBy(records::spillAll).isInstanceOf(IOException.class);
        assertAllThere(spilled(new SparkConf(false)), records);
        records.close();
        memory.cleanUpAllAllocatedMemory();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0;
    }

    /** Arrays of G1's regions; off the heap there is no header. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pagesFillRegionsOfTheCollector(boolean offHeap) throws IOException {
        long header = offHeap ? 0 : Platform.LONG_ARRAY_OFFSET;
        TaskMemoryManager memory = memory(offHeap);
        PartitionedRecordBuffer records = unspilled(memory);
        byte[] record = new byte[10_000];
        long used = 0;
        int pages = 0;
        while (used < 20 << 20) {
            assertThat(records.add(random.nextInt(PARTITIONS), record, record.length))
                    .isTrue();
            if (records.getUsed() > used) {
                long page = records.getUsed() - used + header;
                assertThat(Long.bitCount(page)).as("%d bytes", page).isOne();
                used = records.getUsed();
                pages++;
            }
        }
        assertThat(pages).isBetween(5, 20);
        records.close();
        memoryGivenBack = memory.cleanUpAllAllocatedMemory() == 0;
    }

    @Test
    void noSpillIsSmallHoweverLittleMemoryThereIs() throws IOException {
        TaskMemoryManager memory = memory(false);
        Operator other = new Operator(memory);
        other.acquireMemory(HEAP_BYTES - (400 << 10));
        List<Long> spills = new ArrayList<>();
        PartitionedRecordBuffer records =
                new PartitionedRecordBuffer(memory, PARTITIONS, taken -> spills.add(taken.recordBytes()));
        byte[] record = new byte[1_000];
        while (spills.size() < 10) {
            if (!records.add(random.nextInt(PARTITIONS), record, record.length)) {
                records.spillAll();
            }
            // As an operator does that wants what little there is.
            other.freeMemory(other.acquireMemory(300 << 10));
        }
        assertThat(spills).as("seed %d", seed).allMatch(bytes -> bytes > 400_000);
        records.close();
        other.freeMemory(other.getUsed());
        memoryGivenBack = memory.cleanUpAllAllocatedMemory() == 0;
    }
}
