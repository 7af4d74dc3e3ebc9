// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.read.BlockReader.Begun;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Reads blocks as a reduce task does: one-sidedly, and the others over Spark's block transfer.
 *
 * @param store of the reading executor
 * @param leases for bytes that are copied
 * @param transfer Spark's block transfer
 */
record TaskRead(
        MapOutputStore store,
        PeerPaths paths,
        PeerLookups lookups,
        ReceiveLeases leases,
        ShuffleCounters counters,
        TransferClient transfer) {
    private static final Duration LONG = Duration.ofSeconds(30);
    /** Some blocks of the tests fit into it, others are read in pieces. */
    private static final int BUFFER_BYTES = 1000;

    /** Reads blocks of one executor into {@code answered}; returns the blocks that the block transfer fetched. */
    List<String> read(String executorId, List<String> ids, Answered answered) throws IOException {
        List<Map.Entry<String, byte[]>> here = new ArrayList<>();
        List<BlockRequest> left = new ArrayList<>();
        try (FetchWindow window = new FetchWindow(paths, leases, LONG, 1 << 20, counters, wait -> {})) {
            BlockLookup lookup = new BlockLookup("reader", store, paths, lookups, window, 1 << 20);
            lookup.find(requests(executorId, ids));
            left.addAll(lookup.others());
            ReadTally tally = new ReadTally(new TempShuffleReadMetrics(), counters, false, false);
            byte[] buffer = new byte[BUFFER_BYTES];
            try (BlockReader reader =
                    new BlockReader(lookup.direct(), lookup.sources(), window::cancel, tally, true, null)) {
                for (Begun begun = reader.begin(buffer); begun != null; begun = reader.begin(buffer)) {
                    here.add(Map.entry(begun.wanted().id().name(), begun.bytes().readAllBytes()));
                }
                left.addAll(reader.takeMissed());
            }
        }
        List<String> names = left.stream().map(each -> each.id().name()).toList();
        assertThat(Stream.concat(here.stream().map(Map.Entry::getKey), names.stream()))
                .as("each block once")
                .containsExactlyInAnyOrderElementsOf(ids);
        here.forEach(block ->
                answered.onBlockFetchSuccess(block.getKey(), new NioManagedBuffer(ByteBuffer.wrap(block.getValue()))));
        if (!names.isEmpty()) {
            try (BlockStoreClient client = transfer.client(SparkFetch.inFiles(left))) {
                client.fetchBlocks("host", 1, executorId, names.toArray(String[]::new), answered, null);
            }
        }
        return names;
    }

    /** Returns requests as the map output tracker gives them. */
    private static Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> requests(
            String executorId, List<String> ids) {
        List<Tuple3<BlockId, Object, Object>> blocks = new ArrayList<>();
        for (String id : ids) {
            blocks.add(new Tuple3<>(BlockId.apply(id), 1L, blocks.size()));
        }
        BlockManagerId owner = BlockManagerId.apply(executorId, "host", 1, Option.empty());
        Seq<Tuple3<BlockId, Object, Object>> owned = ScalaCollections.list(blocks);
        return ScalaCollections.iterator(List.of(new Tuple2<>(owner, owned)).iterator());
    }
}
