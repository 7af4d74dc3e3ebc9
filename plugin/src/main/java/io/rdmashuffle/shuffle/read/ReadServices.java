// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.BlockManager;

/**
 * What a reader needs of the executor it runs in.
 *
 * @param conf Spark's configuration
 * @param serializerManager compression and encryption
 * @param blockManager local blocks, and temporary files of large remote ones
 * @param mapOutputTracker knows which executor has which map outputs
 * @param client brings remote blocks
 * @param store this executor's own map outputs
 * @param paths one-sided ways to peers
 * @param counters count bytes by path
 * @param verify whether blocks are compared with their checksums
 */
public record ReadServices(
        SparkConf conf,
        SerializerManager serializerManager,
        BlockManager blockManager,
        MapOutputTracker mapOutputTracker,
        BlockStoreClient client,
        MapOutputStore store,
        PeerPaths paths,
        ShuffleCounters counters,
        boolean verify) {}
