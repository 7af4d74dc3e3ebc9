// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.jspecify.annotations.Nullable;

/** Fake of Spark's client: serves every registered block, unless it is set to be silent or to fail. */
final class FakeNetty extends BlockStoreClient {
    private final Map<String, byte[]> blocks = new HashMap<>();
    private final List<Runnable> late = new ArrayList<>();
    private int fetches;
    volatile boolean silent;
    volatile boolean failing;

    /** Returns the blocks by name, for the test to fill. */
    Map<String, byte[]> blocks() {
        return blocks;
    }

    synchronized int fetches() {
        return fetches;
    }

    @Override
    public synchronized void fetchBlocks(
            String host,
            int port,
            String execId,
            String[] ids,
            BlockFetchingListener listener,
            @Nullable DownloadFileManager downloads) {
        fetches++;
        for (String id : ids) {
            if (silent) {
                late.add(() -> answer(id, listener));
            } else {
                answer(id, listener);
            }
        }
    }

    synchronized void answerLate() {
        late.forEach(Runnable::run);
    }

    private void answer(String id, BlockFetchingListener listener) {
        byte[] bytes = blocks.get(id);
        if (bytes == null || failing) {
            listener.onBlockFetchFailure(id, new IOException("no block " + id));
        } else {
            listener.onBlockFetchSuccess(id, new NioManagedBuffer(ByteBuffer.wrap(bytes)));
        }
    }

    @Override
    public void close() {}
}
