// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * A map output of random bytes, and the bytes themselves as the model.
 *
 * @param output the output in the pool, closed by its user
 * @param partitions contents of its partitions
 */
@SuppressWarnings("ArrayRecordComponent")
public record TestOutput(MapOutput output, byte[][] partitions) {
    /** Writes partitions of random lengths, some empty, in extents of random lengths. */
    public static TestOutput random(Pool pool, long mapId, int partitions, int maxPartitionBytes, Random random)
            throws InterruptedException {
        return write(pool, mapId, content(partitions, maxPartitionBytes, random), random);
    }

    /** Returns partitions of random lengths, some empty. */
    public static byte[][] content(int partitions, int maxPartitionBytes, Random random) {
        byte[][] content = new byte[partitions][];
        for (int p = 0; p < partitions; p++) {
            content[p] = new byte[random.nextInt(4) == 0 ? 0 : random.nextInt(maxPartitionBytes) + 1];
            random.nextBytes(content[p]);
        }
        return content;
    }

    /** Writes these partitions in extents of random lengths. */
    public static TestOutput write(Pool pool, long mapId, byte[][] content, Random random) throws InterruptedException {
        byte[] all = join(content, 0, content.length);
        List<Lease> leases = new ArrayList<>();
        List<Long> used = new ArrayList<>();
        for (int done = 0; done < all.length; ) {
            int piece = Math.min(all.length - done, 1 + random.nextInt(Math.max(1, all.length / 2)));
            Lease lease = TestPools.reserve(pool, Purpose.MAP_OUTPUT, piece);
            lease.memory().putBytes(0, all, done, piece);
            leases.add(lease);
            used.add((long) piece);
            done += piece;
        }
        long[] lengths = Arrays.stream(content).mapToLong(part -> part.length).toArray();
        int[] checksums = new int[content.length];
        for (int p = 0; p < content.length; p++) {
            CRC32C crc = new CRC32C();
            crc.update(content[p]);
            checksums[p] = (int) crc.getValue();
        }
        MapOutput output = MapOutput.create(
                TieredPool.of(pool),
                mapId,
                leases,
                used.stream().mapToLong(Long::longValue).toArray(),
                lengths,
                checksums);
        return new TestOutput(Objects.requireNonNull(output, "the pool is full"), content);
    }

    /** Returns the bytes of partitions {@code [start, end)}. */
    public byte[] expected(int start, int end) {
        return join(partitions, start, end);
    }

    /** Returns the memory of a range of an output that lies in memory, to be damaged. */
    public static List<MemorySlice> inMemory(MapOutput output, BlockRange range) {
        return output.bytes(range).stream().map(MemorySlice.class::cast).toList();
    }

    /** Returns the bytes of slices, one after another. */
    public static byte[] join(List<? extends StoredSlice> slices) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        slices.forEach(slice -> out.writeBytes(TestPools.bytes(slice)));
        return out.toByteArray();
    }

    private static byte[] join(byte[][] content, int start, int end) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int p = start; p < end; p++) {
            out.writeBytes(content[p]);
        }
        return out.toByteArray();
    }
}
