// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.IOException;
import java.util.Objects;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;

/** Stores with a clock of the test's own, and outputs written as tasks write them. */
public final class TestStores {
    private TestStores() {}

    public static MapOutputStore create(
            MapOutputDirectory directory, ShuffleCounters counters, LongSupplier nanoClock) {
        return new MapOutputStore(directory, counters, null, nanoClock);
    }

    /** Returns partitions of random bytes; none is empty. */
    public static byte[][] partitions(int count, int bytes, Random random) {
        byte[][] content = new byte[count][];
        for (int p = 0; p < count; p++) {
            content[p] = new byte[1 + random.nextInt(bytes)];
            random.nextBytes(content[p]);
        }
        return content;
    }

    /** Writes an output to where there is room, as a task does. */
    public static MapOutput write(TieredPool pool, long mapId, byte[][] content) throws IOException {
        ChunkedOutput output = new ChunkedOutput(pool, 16 << 10, 0, false);
        long[] lengths = new long[content.length];
        int[] checksums = new int[content.length];
        for (int p = 0; p < content.length; p++) {
            CRC32C crc = new CRC32C();
            crc.update(content[p]);
            lengths[p] = content[p].length;
            checksums[p] = (int) crc.getValue();
            if (output.append(content[p], 0, content[p].length) < content[p].length) {
                throw new IllegalStateException("both tiers are full");
            }
        }
        return Objects.requireNonNull(output.toMapOutput(mapId, lengths, checksums), "no room for the index");
    }
}
