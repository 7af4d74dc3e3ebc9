// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.PoolLimits;
import java.io.IOException;
import java.io.InterruptedIOException;

/**
 * Makes a map output of this executor out of data and index that another one sent: checks that they agree, publishes
 * them, and tells the driver.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * @param store where outputs in the pool are kept, and all are published
 * @param limits which outputs go to files altogether
 */
record OutputAdoption(MapOutputStore store, PoolLimits limits) {
    /**
     * Takes an output over. One whose shuffle has been removed is dropped silently.
     *
     * @throws IOException if data and index are not what the writer wrote, or there is no room even on disk
     */
    void adopt(IncomingBlock.Data data, IncomingBlock.Index indexBlock) throws IOException {
        MigratedIndex index = indexBlock.index();
        try {
            if (keep(data, index)) {
                long indexBytes = Long.BYTES * (index.lengths().length + 1L);
                data.target().report(data.key(), index.totalBytes(), indexBytes);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while publishing migrated " + data.key());
        }
    }

    /** Makes the output visible here; false if its shuffle is gone. */
    private boolean keep(IncomingBlock.Data data, MigratedIndex index) throws IOException, InterruptedException {
        OutputKey key = data.key();
        IncomingData bytes = data.bytes();
        long bornNanos = System.nanoTime() - index.age().toNanos();
        int partitions = index.lengths().length;
        int[] checksums = bytes.verified(index);
        boolean mayPool = limits.reasonAgainst(partitions).isEmpty();
        MapOutput output = mayPool ? bytes.toMapOutput(index.lengths(), checksums) : null;
        if (output != null) {
            return store.adopt(key.shuffleId(), data.epoch(), output, bornNanos);
        }
        data.target().commitFiles(key, index.lengths(), bytes.toFile());
        boolean wanted = store.adoptFile(key, data.epoch(), partitions, index.totalBytes(), bornNanos);
        if (!wanted) {
            data.target().removeFiles(key);
        }
        return wanted;
    }
}
