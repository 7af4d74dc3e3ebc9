// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.TestPools;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;

/**
 * A map output of random bytes, and the bytes themselves as the model.
 *
 * @param output in the pool; whoever takes it closes it
 * @param partitions what it holds
 */
@SuppressWarnings("ArrayRecordComponent")
public record TestOutput(MapOutput output, byte[][] partitions) {
    /** Writes partitions of random lengths, some empty, in extents of random lengths. */
    public static TestOutput random(Pool pool, long mapId, int partitions, int maxPartitionBytes, Random random)
            throws InterruptedException {
        byte[][] content = new byte[partitions][];
        for (int p = 0; p < partitions; p++) {
            content[p] = new byte[random.nextInt(4) == 0 ? 0 : random.nextInt(maxPartitionBytes) + 1];
            random.nextBytes(content[p]);
        }
        return write(pool, mapId, content, random);
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
        List<MemorySlice> slices = new ArrayList<>();
        for (int i = 0; i < leases.size(); i++) {
            slices.add(leases.get(i).memory().slice(0, used.get(i)));
        }
        SliceCursor cursor = new SliceCursor(slices);
        for (int p = 0; p < content.length; p++) {
            checksums[p] = Crc32c.of(cursor.take(lengths[p]));
        }
        MapOutput output = MapOutput.create(
                pool, mapId, leases, used.stream().mapToLong(Long::longValue).toArray(), lengths, checksums);
        return new TestOutput(Objects.requireNonNull(output, "the pool is full"), content);
    }

    /** Returns the bytes of partitions {@code [start, end)}. */
    public byte[] expected(int start, int end) {
        return join(partitions, start, end);
    }

    /** Returns the bytes of slices, one after another. */
    public static byte[] join(List<MemorySlice> slices) {
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
