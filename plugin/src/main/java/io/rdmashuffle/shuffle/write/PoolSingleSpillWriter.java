// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.spark.shuffle.api.SingleSpillShuffleMapOutputWriter;

/**
 * Writer of a map output from Spark's single spill file to the pool; when the pool is full, the file itself becomes the
 * map output.
 *
 * <p><b>Threading:</b> none; for one task thread.
 */
public final class PoolSingleSpillWriter implements SingleSpillShuffleMapOutputWriter {
    private final OutputKey key;
    private final MapOutputStore store;
    private final int epoch;
    private final IntFunction<ChunkedOutput> outputs;
    private final Supplier<SingleSpillShuffleMapOutputWriter> fileWriters;

    PoolSingleSpillWriter(
            OutputKey key,
            MapOutputStore store,
            IntFunction<ChunkedOutput> outputs,
            Supplier<SingleSpillShuffleMapOutputWriter> fileWriters) {
        this.key = key;
        this.store = store;
        this.epoch = store.epoch(key.shuffleId());
        this.outputs = outputs;
        this.fileWriters = fileWriters;
    }

    @Override
    public void transferMapSpillFile(File spill, long[] lengths, long[] sparkChecksums) throws IOException {
        long total = Arrays.stream(lengths).sum();
        ChunkedOutput pooled = outputs.apply(lengths.length);
        try {
            if (!toPool(spill, lengths, total, pooled)) {
                pooled.discard();
                fileWriters.get().transferMapSpillFile(spill, lengths, sparkChecksums);
                store.addFile(key, epoch, lengths.length, total);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while publishing a map output");
        } finally {
            // Holds nothing once the output is in the store.
            pooled.discard();
        }
    }

    private boolean toPool(File spill, long[] lengths, long total, ChunkedOutput pooled)
            throws IOException, InterruptedException {
        try (FileChannel channel = FileChannel.open(spill.toPath(), StandardOpenOption.READ)) {
            if (!pooled.append(channel, total)) {
                return false;
            }
        }
        MapOutput output = pooled.toMapOutput(key.mapId(), lengths, pooled.checksums(lengths));
        if (output == null) {
            return false;
        }
        store.add(key.shuffleId(), epoch, output);
        Files.deleteIfExists(spill.toPath());
        return true;
    }
}
