package io.rdmashuffle.shuffle;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map outputs of this executor: which are in the pool, and which went to files.
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few look-ups and stores.
 *
 * <p><b>Ownership:</b> owns the outputs that were added. They are freed when their shuffle is removed, and an output that
 * arrives after that, from a task that was too slow to be told, is freed at once.
 */
public final class MapOutputStore implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MapOutputStore.class);

    /** Shuffle ids are never used twice; stragglers of shuffles longer gone than this many are not known any more. */
    private static final int REMEMBERED_REMOVALS = 10_000;

    private final MapOutputDirectory directory;
    private final ShuffleCounters counters;
    private final Map<Integer, Map<Long, MapOutput>> shuffles = new HashMap<>();
    private final Set<Integer> removed = new HashSet<>();
    private final Deque<Integer> removalOrder = new ArrayDeque<>();
    private boolean directoryFullLogged;
    private boolean closed;

    /** Keeps outputs and publishes them in {@code directory}. */
    public MapOutputStore(MapOutputDirectory directory, ShuffleCounters counters) {
        this.directory = directory;
        this.counters = counters;
    }

    /** Takes a complete output over and makes it findable; when this returns, readers may come. */
    public synchronized void add(int shuffleId, MapOutput output) throws InterruptedException {
        if (closed || removed.contains(shuffleId)) {
            output.close();
            return;
        }
        MapOutput previous = shuffles.computeIfAbsent(shuffleId, id -> new HashMap<>())
                .put(output.entry().mapId(), output);
        if (previous != null) {
            previous.close();
        }
        counters.add(ShuffleCounter.MAP_OUTPUTS_POOLED, 1);
        publish(shuffleId, output.entry());
    }

    /** Notes that an output lies in ordinary shuffle files. */
    public synchronized void addFile(int shuffleId, long mapId, int partitions, long dataBytes)
            throws InterruptedException {
        if (closed || removed.contains(shuffleId)) {
            return;
        }
        counters.add(ShuffleCounter.MAP_OUTPUTS_FILED, 1);
        publish(shuffleId, DirectoryEntry.file(mapId, partitions, dataBytes));
    }

    /** Returns a pool output with a reference that the caller releases; null if there is none. */
    public synchronized @Nullable MapOutput acquire(int shuffleId, long mapId) {
        Map<Long, MapOutput> outputs = shuffles.get(shuffleId);
        MapOutput output = outputs == null ? null : outputs.get(mapId);
        return output != null && output.retain() ? output : null;
    }

    /** Frees what the shuffle holds here, at once where nobody is reading. */
    public synchronized void removeShuffle(int shuffleId) {
        if (removed.add(shuffleId)) {
            removalOrder.addLast(shuffleId);
            if (removalOrder.size() > REMEMBERED_REMOVALS) {
                removed.remove(removalOrder.removeFirst());
            }
        }
        directory.withdraw(shuffleId);
        Map<Long, MapOutput> outputs = shuffles.remove(shuffleId);
        if (outputs != null) {
            outputs.values().forEach(MapOutput::close);
        }
    }

    /** Frees everything; idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        shuffles.values().forEach(outputs -> outputs.values().forEach(MapOutput::close));
        shuffles.clear();
        directory.close();
    }

    private void publish(int shuffleId, DirectoryEntry entry) throws InterruptedException {
        if (!directory.publish(shuffleId, entry) && !directoryFullLogged) {
            directoryFullLogged = true;
            LOG.warn(
                    "no room in the directory for map outputs of shuffle {}; peers fetch them over Spark's block transfer"
                            + " (raise spark.shuffle.rdma.directory.maxShuffles or spark.shuffle.rdma.pool.maxSize)",
                    shuffleId);
        }
    }
}
