// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.PrefetchedRows;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.MapOutputStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * What a reduce task does before it reads a byte: finds every map output, and in its index where the partition lies.
 *
 * <p><b>Threading:</b> one thread, as a task is one.
 */
final class Lookup {
    private final int shuffleId;
    private final Own own;
    private final List<Remote> remote;
    private final PeerPaths paths;
    private final PeerLookups lookups;

    /** Map outputs of the executor itself, which it finds without a path. */
    record Own(MapOutputStore store, List<Long> mapIds) {}

    /** Map outputs of another executor. */
    record Remote(String executorId, List<Long> mapIds) {}

    private record Way(Remote remote, PeerPath path, CompletableFuture<PrefetchedRows> asked) {}

    /** Looks up on an executor that has these paths to the others. */
    Lookup(int shuffleId, Own own, List<Remote> remote, PeerPaths paths, PeerLookups lookups) {
        this.shuffleId = shuffleId;
        this.own = own;
        this.remote = remote;
        this.paths = paths;
        this.lookups = lookups;
    }

    /**
     * Looks one partition of all map outputs up.
     *
     * @return nanoseconds
     * @throws IllegalStateException if the answers were wrong
     */
    long run(int partition) throws IOException {
        long started = System.nanoTime();
        long bytes = own(partition);
        long expected = own.mapIds().size();
        List<Way> ways = new ArrayList<>(remote.size());
        for (Remote each : remote) {
            ways.add(ask(each, partition));
            expected += each.mapIds().size();
        }
        if (!lookups.await(ways.stream().map(Way::asked).toList())) {
            throw new IllegalStateException("a peer does not answer");
        }
        for (Way way : ways) {
            bytes += answer(way, partition);
        }
        long nanos = System.nanoTime() - started;
        if (bytes != expected) {
            throw new IllegalStateException(
                    "partition " + partition + " has " + bytes + " bytes in " + expected + " map outputs");
        }
        return nanos;
    }

    private long own(int partition) throws IOException {
        long bytes = 0;
        for (long mapId : own.mapIds()) {
            MapOutput output = own.store().acquire(shuffleId, mapId);
            if (output == null) {
                throw new IllegalStateException("map output " + mapId + " is not in its own pool");
            }
            try {
                bytes += output.range(partition, partition + 1).lengths()[0];
            } finally {
                output.release();
            }
        }
        return bytes;
    }

    /** Asks a peer, unless its memory can be read in place. */
    private Way ask(Remote of, int partition) throws IOException {
        PeerPath path = paths.to(of.executorId());
        if (path == null) {
            throw new IllegalStateException("no path to executor " + of.executorId());
        }
        RemoteDirectory directory = path.directory();
        return new Way(
                of,
                path,
                directory.isVisible()
                        ? CompletableFuture.completedFuture(new PrefetchedRows())
                        : directory.prefetch(shuffleId, of.mapIds(), partition, partition + 1, lookups.executor()));
    }

    private long answer(Way way, int partition) throws IOException {
        RemoteDirectory directory = way.path().directory();
        List<WantedRange> wanted = new ArrayList<>(way.remote().mapIds().size());
        for (long mapId : way.remote().mapIds()) {
            Located located = directory.locate(shuffleId, mapId);
            if (located == null) {
                throw new IllegalStateException("map output " + mapId + " was not found");
            }
            wanted.add(new WantedRange(shuffleId, located.entry(), partition, partition + 1));
        }
        long bytes = 0;
        for (BlockRange range : directory.ranges(wanted, rows(way))) {
            if (range == null) {
                throw new IllegalStateException("index of a map output is inconsistent");
            }
            bytes += range.lengths()[0];
        }
        return bytes;
    }

    /** Returns the prefetched rows; none where the pool had no room for them. */
    private static PrefetchedRows rows(Way way) {
        try {
            return way.asked().join();
        } catch (CompletionException e) {
            return new PrefetchedRows();
        }
    }
}
