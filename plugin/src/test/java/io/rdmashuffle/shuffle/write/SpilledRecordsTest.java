// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.UnifiedMemoryManager;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Spills against a model: hundreds of them come back in the order in which they went, from a handful of files. */
@Tag("unit")
@Timeout(60)
class SpilledRecordsTest {
    private static final int PARTITIONS = 23;
    private static final long HEAP_BYTES = 64 << 20;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final TaskMetrics metrics = new TaskMetrics();
    private final TaskMemoryManager memory =
            new TaskMemoryManager(new UnifiedMemoryManager(new SparkConf(false), HEAP_BYTES, 0, 1), 0);
    private final List<ByteArrayOutputStream> model = new ArrayList<>();
    private final List<File> files = new ArrayList<>();
    private final byte[] buffer = new byte[1_000];

    @TempDir
    Path folder;

    @AfterEach
    void nothingIsLeft() {
        assertThat(folder).as("seed %d", seed).isEmptyDirectory();
        assertThat(memory.cleanUpAllAllocatedMemory()).isZero();
    }

    private SpilledRecords spilled(String... conf) {
        return spilled(null, conf);
    }

    private SpilledRecords spilled(@Nullable FrameCodec framesWith, String... conf) {
        SparkConf all = new SparkConf(false);
        for (int i = 0; i < conf.length; i += 2) {
            all.set(conf[i], conf[i + 1]);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            model.add(new ByteArrayOutputStream());
        }
        return new SpilledRecords(this::file, PARTITIONS, all, metrics, framesWith);
    }

    private File file() {
        File file = folder.resolve("spilled-" + files.size()).toFile();
        files.add(file);
        return file;
    }

    /** Spills records, none of one partition at least; where they are few, most partitions have none. */
    private void spill(PartitionedRecordBuffer records, int count) throws IOException {
        int empty = random.nextInt(PARTITIONS);
        for (int i = 0; i < count; i++) {
            byte[] record = new byte[1 + random.nextInt(random.nextInt(10) == 0 ? 2_000 : 100)];
            // Half of it compresses.
            random.nextBytes(record);
            Arrays.fill(record, record.length / 2, record.length, (byte) 1);
            int partition = (empty + 1 + random.nextInt(PARTITIONS - 1)) % PARTITIONS;
            assertThat(records.add(partition, record, record.length)).isTrue();
            model.get(partition).write(record);
        }
        records.spillAll();
    }

    private void assertPartition(SpilledRecords spilled, int partition) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertThat(spilled.has(partition)).isEqualTo(model.get(partition).size() > 0);
        spilled.writeTo(out, partition, buffer);
        assertThat(out.toByteArray())
                .as("partition %d, seed %d", partition, seed)
                .isEqualTo(model.get(partition).toByteArray());
    }

    private long modelBytes() {
        return model.stream().mapToLong(ByteArrayOutputStream::size).sum();
    }

    @ParameterizedTest
    @ValueSource(strings = {"bare", "lz4", "zstd", "snappy", "lzf"})
    void manySpillsComeBackFromFewFiles(String codec) throws IOException {
        SpilledRecords spilled = spilled(
                "spark.shuffle.spill.compress",
                Boolean.toString(!codec.equals("bare")),
                "spark.io.compression.codec",
                codec.equals("bare") ? "lz4" : codec);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        for (int spills = 1; spills <= 700; spills++) {
            spill(records, random.nextInt(20));
            if (spills % 97 == 0) {
                // Reading may come before more is spilled.
                assertPartition(spilled, random.nextInt(PARTITIONS));
            }
        }
        for (int p = 0; p < PARTITIONS; p++) {
            assertPartition(spilled, p);
        }
        // Again from the start, as the writer does when the pool refuses a started output, and in any order.
        for (int i = 0; i < 20; i++) {
            assertPartition(spilled, random.nextInt(PARTITIONS));
        }
        assertThat(spilled.recordBytes()).isEqualTo(modelBytes());
        assertThat(files).hasSizeBetween(2, 4);
        records.close();
        spilled.close();
        spilled.close();
    }

    /** As the pool refuses a map output, which then goes to the next destination from its start. */
    @ParameterizedTest
    @CsvSource({"10000, 10000", "10000, 10", "10, 10000", "10, 10"})
    void refusedPartitionIsRewrittenFromItsStart(int records, int moreRecords) throws IOException {
        SpilledRecords spilled = spilled(FrameCodec.APPLICATION);
        PartitionedRecordBuffer gathered = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(gathered, records);
        while (model.get(0).size() == 0) {
            spill(gathered, records);
        }
        int firstBytes = model.get(0).size();
        while (model.get(0).size() < firstBytes + 2) {
            spill(gathered, moreRecords);
        }
        for (int taken : List.of(
                0, 1, firstBytes / 2, firstBytes, firstBytes + 1, model.get(0).size() - 1)) {
            OutputStream refusing = new RefusingOutput(taken);
            assertThatThrownBy(() -> spilled.writeTo(refusing, 0, buffer)).hasMessage("refused");
            for (int p = 0; p < PARTITIONS; p++) {
                assertPartition(spilled, p);
            }
            assertThatThrownBy(() -> spilled.writeTo(new RefusingOutput(taken), 0, buffer))
                    .hasMessage("refused");
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            spilled.writeTo(out, 0, buffer);
            assertThat(out.toByteArray())
                    .as("after %d bytes, seed %d", taken, seed)
                    .isEqualTo(model.get(0).toByteArray());
        }
        gathered.close();
        spilled.close();
    }

    /** Accepts a number of bytes, then fails. */
    private static final class RefusingOutput extends OutputStream {
        private int left;

        RefusingOutput(int bytes) {
            this.left = bytes;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            left -= length;
            if (left < 0) {
                throw new IOException("refused");
            }
        }
    }

    @Test
    void spillsAreCompressedUnlessTheUserSaysOtherwise() throws IOException {
        SpilledRecords spilled = spilled();
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 10_000);
        assertThat(metrics.diskBytesSpilled()).isEqualTo(files.get(0).length()).isLessThan(modelBytes() * 3 / 4);
        spilled.close();
        model.clear();

        long before = metrics.diskBytesSpilled();
        SpilledRecords bare = spilled("spark.shuffle.spill.compress", "false");
        PartitionedRecordBuffer more = new PartitionedRecordBuffer(memory, PARTITIONS, bare);
        spill(more, 10_000);
        assertThat(metrics.diskBytesSpilled() - before)
                .isEqualTo(files.get(1).length())
                .isGreaterThanOrEqualTo(modelBytes());
        bare.close();
        records.close();
        more.close();
    }

    /** A few large spills are not worth a second copy. */
    @Test
    void largeSpillsAreLeftSideBySide() throws IOException {
        SpilledRecords spilled = spilled("spark.shuffle.spill.compress", "false");
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 300_000);
        assertThat(modelBytes()).isGreaterThan(16 << 20);
        for (int spills = 0; spills < 40; spills++) {
            spill(records, 10);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            assertPartition(spilled, p);
        }
        assertThat(files).hasSize(1);
        records.close();
        spilled.close();
    }

    /** Large spills among small ones, more than are left side by side: they are merged in all combinations. */
    @ParameterizedTest
    @CsvSource({"APPLICATION, lz4, 23", "APPLICATION, zstd, 23", "ROWS, lz4, 23", "ROWS, lz4, 2"})
    void largeSpillsRoundTripAsFrames(FrameCodec with, String codec, int smallPerLarge) throws IOException {
        SpilledRecords spilled = spilled(with, "spark.io.compression.codec", codec);
        Frames frames = Frames.of(new SparkConf(false).set("spark.io.compression.codec", codec));
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        for (int spills = 1; spills <= 70; spills++) {
            spill(records, spills % smallPerLarge == 0 ? 4_000 : random.nextInt(20));
            assertThat(spilled.hasFrames()).isEqualTo(spills >= smallPerLarge);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            assertPartition(spilled, p);
        }
        for (int p = 0; p < PARTITIONS; p++) {
            ByteArrayOutputStream block = new ByteArrayOutputStream();
            try (OutputStream out = frames.compress(block, with, new CodecCost())) {
                spilled.writeTo(out, p, buffer);
            }
            assertThat(frames.open(new ByteArrayInputStream(block.toByteArray()))
                            .readAllBytes())
                    .as("partition %d, seed %d", p, seed)
                    .isEqualTo(model.get(p).toByteArray());
        }
        assertThat(spilled.recordBytes()).isEqualTo(modelBytes());
        records.close();
        spilled.close();
    }

    @Test
    void framesGoToACompressedBlockAsTheyAre() throws IOException {
        SpilledRecords spilled = spilled(FrameCodec.APPLICATION);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 10_000);
        spill(records, 10_000);
        ByteArrayOutputStream blocks = new ByteArrayOutputStream();
        CodecCost cost = new CodecCost();
        for (int p = 0; p < PARTITIONS; p++) {
            try (OutputStream out = Frames.of(new SparkConf(false)).compress(blocks, FrameCodec.ZSTD, cost)) {
                spilled.writeTo(out, p, buffer);
            }
        }
        assertThat(cost.rawBytes()).isZero();
        assertThat(blocks.size()).isEqualTo(files.get(0).length()).isLessThan((int) modelBytes() * 3 / 4);
        records.close();
        spilled.close();
    }

    @Test
    void spillsThatMayNotBeCompressedAreNotFrames() throws IOException {
        SpilledRecords spilled = spilled(FrameCodec.APPLICATION, "spark.shuffle.spill.compress", "false");
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 10_000);
        assertThat(spilled.hasFrames()).isFalse();
        assertThat(files.get(0).length()).isGreaterThanOrEqualTo(modelBytes());
        records.close();
        spilled.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void framesThatADiskHasChangedFail(boolean compressed) throws IOException {
        SpilledRecords spilled = spilled(FrameCodec.APPLICATION);
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 10_000);
        try (RandomAccessFile damaged = new RandomAccessFile(files.get(0), "rw")) {
            // In the random half of a record, which LZ4 has as it is.
            damaged.seek(damaged.length() - 20_000);
            int before = damaged.read();
            damaged.seek(damaged.length() - 20_000);
            damaged.write(before ^ 1);
        }
        Frames frames = Frames.of(new SparkConf(false));
        assertThatThrownBy(() -> {
                    for (int p = 0; p < PARTITIONS; p++) {
                        OutputStream block = OutputStream.nullOutputStream();
                        spilled.writeTo(
                                compressed ? frames.compress(block, FrameCodec.APPLICATION, new CodecCost()) : block,
                                p,
                                buffer);
                    }
                })
                .isInstanceOf(IOException.class)
                .hasMessageContaining(compressed ? "have changed on the disk" : "");
        records.close();
        spilled.close();
    }

    @Test
    void aRunThatCannotBeWrittenLeavesTheOthers() throws IOException {
        SpillFile spills = new SpillFile(file());
        spills.append(1, out -> {
            out.write(new byte[100_000]);
            return null;
        });
        assertThatThrownBy(() -> spills.append(1, out -> {
                    out.write(new byte[200_000]);
                    throw new IOException("No space left on device");
                }))
                .hasMessage("No space left on device");
        assertThat(spills.append(1, out -> {
                    out.write(7);
                    return null;
                }))
                .isOne();
        assertThat(spills.runs()).isEqualTo(2);
        assertThat(spills.open(0).readAllBytes()).hasSize(100_000);
        assertThat(spills.open(1).readAllBytes()).containsExactly(7);
        spills.close();
    }

    @Test
    void aFileThatWasCutShortOrOverwrittenFails() throws IOException {
        SpilledRecords spilled = spilled("spark.shuffle.spill.compress", "false");
        PartitionedRecordBuffer records = new PartitionedRecordBuffer(memory, PARTITIONS, spilled);
        spill(records, 10_000);
        Path file = files.get(0).toPath();
        long length = Files.size(file);
        try (RandomAccessFile damaged = new RandomAccessFile(files.get(0), "rw")) {
            damaged.writeInt(PARTITIONS - 1);
            assertThat(spilled.has(0)).isFalse();
            assertThatThrownBy(() -> spilled.has(PARTITIONS)).isInstanceOf(IOException.class);
            damaged.seek(0);
            damaged.writeInt(0);
            damaged.setLength(length / 2);
        }
        assertThatThrownBy(() -> {
                    for (int p = 0; p < PARTITIONS; p++) {
                        spilled.writeTo(OutputStream.nullOutputStream(), p, buffer);
                    }
                })
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file.toString());
        records.close();
        spilled.close();
    }
}
