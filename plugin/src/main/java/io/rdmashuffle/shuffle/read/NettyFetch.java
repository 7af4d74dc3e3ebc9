// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of one fetch that go over Spark's block transfer.
 *
 * <p><b>Threading:</b> for the fetching thread, then immutable.
 */
final class NettyFetch {
    private final BlockStoreClient netty;
    private final String host;
    private final int port;
    private final String execId;
    private final BlockAnswers answers;
    private final @Nullable DownloadFileManager downloads;
    private final Map<String, ShuffleCounter> counterByBlock = new LinkedHashMap<>();

    NettyFetch(
            BlockStoreClient netty,
            String host,
            int port,
            String execId,
            BlockAnswers answers,
            @Nullable DownloadFileManager downloads) {
        this.netty = netty;
        this.host = host;
        this.port = port;
        this.execId = execId;
        this.answers = answers;
        this.downloads = downloads;
    }

    void add(String blockId, ShuffleCounter counter) {
        counterByBlock.put(blockId, counter);
    }

    void start() {
        if (!counterByBlock.isEmpty()) {
            fetch(new ArrayList<>(counterByBlock.keySet()));
        }
    }

    /** Fetches one block whose copy failed. */
    void startOne(String blockId) {
        fetch(List.of(blockId));
    }

    private void fetch(List<String> blockIds) {
        try {
            netty.fetchBlocks(host, port, execId, blockIds.toArray(String[]::new), new Relay(), downloads);
        } catch (RuntimeException e) {
            blockIds.forEach(blockId -> answers.failed(blockId, e));
        }
    }

    private final class Relay implements BlockFetchingListener {
        @Override
        public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
            ShuffleCounter counter = counterByBlock.getOrDefault(blockId, ShuffleCounter.NETTY_BYTES);
            answers.succeeded(blockId, data, counter);
        }

        @Override
        public void onBlockFetchFailure(String blockId, Throwable exception) {
            answers.failed(blockId, exception);
        }
    }
}
