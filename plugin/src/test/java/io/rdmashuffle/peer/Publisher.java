// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.Random;
import java.util.UUID;

/** Process that writes and publishes map outputs on several threads until it is killed. */
final class Publisher {
    static final int SHUFFLE = 3;
    static final int PARTITIONS = 6;
    static final int THREADS = 3;
    private static final int MAX_PARTITION_BYTES = 2_000;

    private Publisher() {}

    /** Returns the content of a map output, which is always the same. */
    static byte[][] content(long mapId) {
        return TestOutput.content(PARTITIONS, MAX_PARTITION_BYTES, new Random(mapId));
    }

    /**
     * Starts; arguments are the directory of its pool, and a file in which it counts the outputs that each thread has
     * published.
     */
    public static void main(String[] args) throws Exception {
        ShmFabric fabric = new ShmFabric(1, 1 << 20, true);
        Pool pool = TestPools.create(Path.of(args[0]), 256 << 20, 8 << 20, fabric);
        MapOutputDirectory directory = MapOutputDirectory.create(pool, 16, UUID.randomUUID());
        MapOutputStore store = new MapOutputStore(directory, new ShuffleCounters());
        MappedByteBuffer counts = counts(Path.of(args[1]), FileChannel.MapMode.READ_WRITE);
        HexFormat hex = HexFormat.of();
        System.out.println("publisher " + hex.formatHex(fabric.localAddress()) + " "
                + hex.formatHex(directory.location().encode()));
        for (int thread = 0; thread < THREADS; thread++) {
            int first = thread;
            new Thread(() -> publish(pool, store, counts, first), "publisher-" + thread).start();
        }
        int unused = System.in.read();
        System.exit(0);
    }

    static MappedByteBuffer counts(Path file, FileChannel.MapMode mode) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(mode, 0, THREADS * Long.BYTES);
        }
    }

    private static void publish(Pool pool, MapOutputStore store, MappedByteBuffer counts, int thread) {
        try {
            for (long mapId = thread; ; mapId += THREADS) {
                TestOutput output = TestOutput.write(pool, mapId, content(mapId), new Random(mapId));
                store.add(SHUFFLE, 0, output.output());
                counts.putLong(thread * Long.BYTES, mapId / THREADS + 1);
            }
        } catch (InterruptedException | IOException e) {
            throw new IllegalStateException("cannot publish", e);
        }
    }
}
