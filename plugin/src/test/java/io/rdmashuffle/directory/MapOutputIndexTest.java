// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that indexes of any size return the written partitions of any length. */
@Tag("unit")
class MapOutputIndexTest {
    private static final long MAP_ID = 77;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    private static DirectoryEntry entry(long mapId, int partitions, int extents, long dataBytes) {
        boolean inOnePiece = extents == 1;
        return new DirectoryEntry(
                mapId, Place.POOL, partitions, extents, 0, 0, inOnePiece ? 5 : 0, inOnePiece ? 4096 : 0, dataBytes);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 1", "3, 4", "1023, 1", "1024, 2", "1025, 1", "2047, 3", "2048, 1", "100001, 1"})
    void roundTrip(int partitions, int extents) throws Exception {
        // Some of more than 4 GiB, whose offsets need both halves of a long.
        long[] lengths = LongStream.generate(() -> random.nextInt(4) == 0 ? 0 : random.nextLong(6L << 30))
                .limit(partitions)
                .toArray();
        int[] checksums = IntStream.generate(random::nextInt).limit(partitions).toArray();
        long total = LongStream.of(lengths).sum();
        List<MapOutputIndex.Extent> pieces = new ArrayList<>();
        for (int e = 0; e < extents; e++) {
            long share = e == extents - 1 ? total - (extents - 1) * (total / extents) : total / extents;
            pieces.add(new MapOutputIndex.Extent(5 + e, 4096, share));
        }
        DirectoryEntry entry = entry(MAP_ID, partitions, extents, total);
        try (NativeBuffer memory = new NativeBuffer(MapOutputIndex.lengthBytes(partitions, extents))) {
            MemorySlice region = new MemorySlice(memory.address(), memory.lengthBytes());
            MapOutputIndex.write(region, MAP_ID, pieces, lengths, checksums);
            BlockRange all = MapOutputIndex.read(entry, region, 0, partitions);
            assertThat(all.lengths()).as("seed %d", seed).isEqualTo(lengths);
            assertThat(all.checksums()).as("seed %d", seed).isEqualTo(checksums);
            int one = random.nextInt(partitions);
            BlockRange block = MapOutputIndex.read(entry, region, one, one + 1);
            assertThat(block.lengths()).as("seed %d", seed).containsExactly(lengths[one]);
            assertThat(block.checksums()).as("seed %d", seed).containsExactly(checksums[one]);
            if (extents == 1 && lengths[one] > 0) {
                long before = LongStream.of(lengths).limit(one).sum();
                assertThat(block.slices()).containsExactly(new RemoteSlice(5, 4096 + before, lengths[one]));
            }
        }
    }

    /**
     * As when an entry leads astray, or memory was lent to another: the bytes would be sound, and of something
     * else.
     */
    @Test
    void checksumDependsOnPartitionAndMapOutput() throws Exception {
        int partitions = 5_000;
        int[] checksums = new int[partitions];
        List<MapOutputIndex.Extent> piece = List.of(new MapOutputIndex.Extent(5, 4096, partitions));
        try (NativeBuffer memory = new NativeBuffer(MapOutputIndex.lengthBytes(partitions, 1))) {
            MemorySlice region = new MemorySlice(memory.address(), memory.lengthBytes());
            long[] lengths = LongStream.generate(() -> 1).limit(partitions).toArray();
            MapOutputIndex.write(region, MAP_ID, piece, lengths, checksums);
            for (int other = 1; other < 1_000; other++) {
                DirectoryEntry ofAnother = entry(MAP_ID + other, partitions, 1, partitions);
                assertThat(MapOutputIndex.read(ofAnother, region, 0, partitions).checksums())
                        .as("map %d", other)
                        .doesNotContain(0);
            }
            DirectoryEntry entry = entry(MAP_ID, partitions, 1, partitions);
            MemorySlice rows = region.slice(12, region.lengthBytes() - 12);
            assertThat(MapOutputIndex.read(entry, rows, 0, partitions - 1).checksums())
                    .doesNotContain(0);
            assertThatThrownBy(() -> MapOutputIndex.read(entry, rows, 0, partitions + 1))
                    .isInstanceOf(DirectoryFormatException.class);
        }
    }
}
