// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.MapOutputStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What a reduce task does before it reads a byte: finds every map output, and in its index where the partition lies.
 *
 * <p><b>Threading:</b> one thread, as a task is one.
 */
final class Lookup {
    private final Scale scale;
    private final int shuffleId;
    private final List<SimulatedExecutor> executors;
    private final PeerPaths paths;
    private final long[][] mapIds;

    /** Looks up on the first executor, which reads its own map outputs without a path. */
    Lookup(Scale scale, int shuffleId, List<SimulatedExecutor> executors, PeerPaths paths) {
        this.scale = scale;
        this.shuffleId = shuffleId;
        this.executors = executors;
        this.paths = paths;
        this.mapIds = new long[executors.size()][];
        for (int i = 0; i < mapIds.length; i++) {
            mapIds[i] = scale.mapIds(shuffleId, i);
        }
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
        for (int i = 1; i < mapIds.length; i++) {
            PeerPath path = paths.to(executors.get(i).id());
            if (path == null) {
                throw new IllegalStateException("no path to executor " + i);
            }
            bytes += remote(path.directory(), mapIds[i], partition);
        }
        long nanos = System.nanoTime() - started;
        if (bytes != scale.maps()) {
            throw new IllegalStateException(
                    "partition " + partition + " has " + bytes + " bytes in " + scale.maps() + " map outputs");
        }
        return nanos;
    }

    private long own(int partition) throws IOException {
        MapOutputStore store = executors.get(0).store();
        long bytes = 0;
        for (long mapId : mapIds[0]) {
            MapOutput output = store.acquire(shuffleId, mapId);
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

    private long remote(RemoteDirectory directory, long[] ids, int partition) throws IOException {
        List<WantedRange> wanted = new ArrayList<>(ids.length);
        for (long mapId : ids) {
            Located located = directory.locate(shuffleId, mapId);
            if (located == null) {
                throw new IllegalStateException("map output " + mapId + " was not found");
            }
            wanted.add(new WantedRange(shuffleId, located.entry(), partition, partition + 1));
        }
        long bytes = 0;
        for (BlockRange range : directory.ranges(wanted)) {
            if (range == null) {
                throw new IllegalStateException("index of a map output is inconsistent");
            }
            bytes += range.lengths()[0];
        }
        return bytes;
    }
}
