// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.config.package$;

/**
 * Services of the executor for readers.
 *
 * @param spark the calls that differ between versions of Spark
 * @param env Spark's own services of this executor
 * @param config the plugin's settings
 * @param transfer Spark's block transfer, for blocks that are not read one-sidedly
 * @param store this executor's own map outputs
 * @param paths one-sided ways to peers
 * @param lookups asks many peers at once
 * @param leases memory that bytes of peers are copied into
 * @param kills ends the waits of killed tasks
 */
public record ReadServices(
        SparkLine spark,
        SparkEnv env,
        ShuffleConfig config,
        TransferClient transfer,
        MapOutputStore store,
        PeerPaths paths,
        PeerLookups lookups,
        ReceiveLeases leases,
        KillWatch kills) {
    private static final long MEBIBYTE = 1L << 20;

    /** Returns Spark's configuration. */
    SparkConf conf() {
        return env.conf();
    }

    /** Returns the counters of bytes by path. */
    ShuffleCounters counters() {
        return store.counters();
    }

    /**
     * Starts to look a shuffle up at the peers that this executor reads from, once and if they are few: for a task that
     * is about to ask the driver which of them have some of it. Waits for nothing; what fails the task finds out when
     * it needs it.
     */
    public void lookUpEarly(int shuffleId) {
        for (PeerPath path : paths.takeEarly(shuffleId)) {
            RemoteDirectory directory = path.directory();
            // To look at memory of one that has nothing of this shuffle would keep it mapped.
            if (directory.isCopied() && !directory.knows(shuffleId)) {
                CompletableFuture<Void> unused = directory.prefetchAll(shuffleId, lookups.executor());
            }
        }
    }

    /**
     * Returns the maximum of a task's remote bytes in flight, {@code spark.reducer.maxSizeInFlight}. Spark counts in
     * MiB, and has one request under way at a time where that is less than one.
     */
    long maxBytesInFlight() {
        return Math.max(1, (Long) conf().get(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT())) * MEBIBYTE;
    }

    /**
     * Returns the longest block that is copied into the pool: the longest lease, but at most {@code
     * spark.network.maxRemoteBlockSizeFetchToMem}, above which Spark's block transfer writes blocks to a file.
     */
    long maxCopiedBytes() {
        return Math.min(
                leases.longestBytes(), (Long) conf().get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()));
    }
}
