// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
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

/** Records against a model: what was added to a partition comes out of it, in order, spilled or not. */
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
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS);
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
            assertThat(records.writeTo(out, p, buffer)).isEqualTo(model.get(p).size());
            assertThat(out.toByteArray())
                    .as("seed %d", seed)
                    .isEqualTo(model.get(p).toByteArray());
        }
        assertThat(records.peakBytes()).isEqualTo(records.getUsed()).isPositive();
        records.clear();
        assertThat(records.has(0)).isFalse();
        assertThat(records.isEmpty()).isTrue();
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatMemoryCannotHoldIsInFiles(boolean offHeap) throws IOException {
        fillModel();
        TaskMemoryManager memory = memory(offHeap);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS);
        SpilledRecords spilled = new SpilledRecords(folder.resolve("spilled").toFile(), PARTITIONS);
        for (int spills = 0; spills < 3; ) {
            byte[] record = new byte[10_000 + random.nextInt(10_000)];
            random.nextBytes(record);
            int partition = random.nextInt(PARTITIONS);
            if (!records.add(partition, record, record.length)) {
                assertThat(spilled.add(records)).isEqualTo(records.recordBytes());
                spills++;
                records.clear();
                assertThat(records.add(partition, record, record.length)).isTrue();
            }
            model.get(partition).write(record);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            // Twice, as the writer does when the pool refuses what it has begun.
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
        records.clear();
        memoryGivenBack = memory.cleanUpAllAllocatedMemory() == 0;
    }

    @Test
    void anEmptyScratchTakesAnyRecordWhileOthersHoldAllMemory() throws IOException {
        TaskMemoryManager memory = memory(false);
        PartitionedRecordBuffer other = new PartitionedRecordBuffer(memory, 1);
        assertThat(other.acquireMemory(HEAP_BYTES)).isEqualTo(HEAP_BYTES);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS);
        byte[] record = new byte[3 << 20];
        random.nextBytes(record);
        for (int round = 0; round < 2; round++) {
            assertThat(records.add(round, record, record.length)).isTrue();
            assertThat(records.add(round, record, record.length)).isFalse();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            records.writeTo(out, round, buffer);
            assertThat(out.toByteArray()).isEqualTo(record);
            records.clear();
        }
        other.freeMemory(HEAP_BYTES);
        memoryGivenBack = memory.getMemoryConsumptionForThisTask() == 0 && memory.cleanUpAllAllocatedMemory() == 0;
    }
}
