// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.MapOutputDirectory.Room;
import io.rdmashuffle.memory.WaitPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Map outputs of this executor, in the pool and in files.
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few lookups and stores. Tasks that add an output wait first,
 * while the pool grows for its entry; threads that receive outputs of other executors do not.
 *
 * <p><b>Ownership:</b> owns the outputs that were added. They are freed when their shuffle is removed, and an output of
 * a task that began before the removal is freed at once.
 */
public final class MapOutputStore implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MapOutputStore.class);

    /** Removals that are remembered; tasks older than all of these are not recognised as stragglers. */
    private static final int MAX_REMOVALS = 10_000;

    private final MapOutputDirectory directory;
    private final ShuffleCounters counters;
    private final @Nullable ServiceFiles files;
    private final LongSupplier nanoClock;
    private final Map<Integer, PooledShuffle> shuffles = new HashMap<>();
    private final Map<Integer, Removal> removals = new LinkedHashMap<>();
    private long leftBytes;
    private boolean directoryFullLogged;
    private boolean closed;

    /** Number of removals of a shuffle, and time of the last one. */
    private record Removal(int times, long atNanos) {}

    /** Keeps outputs and publishes them in {@code directory}. */
    public MapOutputStore(MapOutputDirectory directory, ShuffleCounters counters) {
        this(directory, counters, null, System::nanoTime);
    }

    /**
     * Keeps outputs and publishes them in {@code directory} and as files.
     *
     * @param files for an external shuffle service; null if there is none
     */
    public MapOutputStore(MapOutputDirectory directory, ShuffleCounters counters, @Nullable ServiceFiles files) {
        this(directory, counters, files, System::nanoTime);
    }

    /** Creates a store with a given clock; for tests. */
    MapOutputStore(
            MapOutputDirectory directory,
            ShuffleCounters counters,
            @Nullable ServiceFiles files,
            LongSupplier nanoClock) {
        this.directory = directory;
        this.counters = counters;
        this.files = files;
        this.nanoClock = nanoClock;
    }

    /** Returns the counters of outputs, here and at their readers. */
    public ShuffleCounters counters() {
        return counters;
    }

    /**
     * Returns the number of removals of a shuffle. Spark removes a shuffle and writes it again under the same id when
     * {@code spark.sql.classic.shuffleDependency.fileCleanup.enabled} is on, so an id alone does not tell stragglers.
     */
    public synchronized int epoch(int shuffleId) {
        Removal last = removals.get(shuffleId);
        return last == null ? 0 : last.times();
    }

    /**
     * Accepts a complete output and makes it findable; when this returns, readers may come.
     *
     * @param epoch what {@link #epoch} said when the task began to write
     * @throws IOException if the shuffle has been removed since, or files for the external shuffle service cannot be
     *     written; the output is freed, and success must not be reported
     */
    public void add(int shuffleId, int epoch, MapOutput output) throws IOException, InterruptedException {
        if (!writeFiles(shuffleId, output)) {
            output.close();
            throw new IOException(
                    "map output " + output.entry().mapId() + " of shuffle " + shuffleId + " has shuffle files already");
        }
        boolean added = false;
        try (Room room = prepare(shuffleId, WaitPolicy.GROWTH, output)) {
            add(shuffleId, epoch, output, room);
            added = true;
        } finally {
            if (!added) {
                ServiceFiles.remove(files, shuffleId, output);
            }
        }
    }

    /** Writes files for the external shuffle service; false if they are there. A failure frees the output. */
    private boolean writeFiles(int shuffleId, MapOutput output) throws IOException {
        if (files == null) {
            return true;
        }
        try {
            return files.write(shuffleId, output);
        } catch (IOException | RuntimeException e) {
            output.close();
            throw e;
        }
    }

    /** Finds room for the entry of an output; an interrupt frees the output. */
    private Room prepare(int shuffleId, WaitPolicy waitPolicy, MapOutput output) throws InterruptedException {
        try {
            return directory.prepare(shuffleId, waitPolicy);
        } catch (InterruptedException e) {
            output.close();
            throw e;
        }
    }

    private synchronized void add(int shuffleId, int epoch, MapOutput output, Room room)
            throws IOException, InterruptedException {
        if (closed || epoch(shuffleId) != epoch) {
            output.close();
            throw new IOException("shuffle " + shuffleId + " was removed while its map task "
                    + output.entry().mapId() + " ran");
        }
        MapOutput previous =
                shuffles.computeIfAbsent(shuffleId, id -> new PooledShuffle()).put(output, nanoClock.getAsLong());
        if (previous != null) {
            previous.close();
        }
        counters.add(ShuffleCounter.MAP_OUTPUTS_POOLED, 1);
        counters.add(ShuffleCounter.MAP_OUTPUTS_ON_DISK, output.entry().place() == DirectoryEntry.Place.DISK ? 1 : 0);
        publish(shuffleId, output.entry(), room);
    }

    /**
     * Assumes ownership of an output that another executor wrote and sent. One of the same id that is here already
     * stays, and the new one is freed: readers may know where the old one lies.
     *
     * @param epoch what {@link #epoch} said when the output began to arrive
     * @param bornNanos when it was written, on this process's clock
     * @return false if its shuffle has been removed since; the output is freed
     */
    public boolean adopt(int shuffleId, int epoch, MapOutput output, long bornNanos) throws InterruptedException {
        try (Room room = prepare(shuffleId, WaitPolicy.NONE, output)) {
            return adopt(shuffleId, epoch, output, bornNanos, room);
        }
    }

    private synchronized boolean adopt(int shuffleId, int epoch, MapOutput output, long bornNanos, Room room)
            throws InterruptedException {
        if (isGone(shuffleId, epoch, bornNanos)) {
            output.close();
            return false;
        }
        if (shuffles.computeIfAbsent(shuffleId, id -> new PooledShuffle()).adopt(output, bornNanos)) {
            counters.add(ShuffleCounter.MAP_OUTPUTS_MIGRATED, 1);
            publish(shuffleId, output.entry(), room);
        } else {
            output.close();
        }
        return true;
    }

    /**
     * Records that an output that another executor wrote lies in files now; false if its shuffle has been removed
     * since.
     */
    public boolean adoptFile(OutputKey key, int epoch, int partitions, long dataBytes, long bornNanos)
            throws InterruptedException {
        try (Room room = directory.prepare(key.shuffleId(), WaitPolicy.NONE)) {
            synchronized (this) {
                if (isGone(key.shuffleId(), epoch, bornNanos)) {
                    return false;
                }
                counters.add(ShuffleCounter.MAP_OUTPUTS_MIGRATED, 1);
                counters.add(ShuffleCounter.MAP_OUTPUTS_FILED, 1);
                publish(key.shuffleId(), DirectoryEntry.file(key.mapId(), partitions, dataBytes), room);
                return true;
            }
        }
    }

    /**
     * Returns whether an output that was written then, and began to arrive in that epoch, is of a shuffle that was
     * removed.
     */
    public synchronized boolean isGone(int shuffleId, int epoch, long bornNanos) {
        Removal last = removals.get(shuffleId);
        return closed || epoch(shuffleId) != epoch || (last != null && bornNanos - last.atNanos() < 0);
    }

    /** Returns the map outputs that are in the pool, by shuffle. */
    public synchronized Map<Integer, List<Long>> pooled() {
        Map<Integer, List<Long>> mapIds = new HashMap<>();
        shuffles.forEach((shuffleId, outputs) -> mapIds.put(shuffleId, List.copyOf(outputs.mapIds())));
        return mapIds;
    }

    /** Returns the shuffles of which outputs are in the pool. */
    public synchronized Set<Integer> shuffleIds() {
        return Set.copyOf(shuffles.keySet());
    }

    /** Returns whether an output is in the pool. */
    public synchronized boolean isPooled(int shuffleId, long mapId) {
        return find(shuffleId, mapId) != null;
    }

    /** Returns the age of an output in the pool; 0 if it has been removed. */
    public synchronized long ageNanos(int shuffleId, long mapId) {
        PooledShuffle.Stored stored = stored(shuffleId, mapId);
        return stored == null ? 0 : nanoClock.getAsLong() - stored.bornNanos();
    }

    /** Records that an output lies in ordinary shuffle files; one that is not noted is found by asking its owner. */
    public void addFile(OutputKey key, int epoch, int partitions, long dataBytes) throws InterruptedException {
        try (Room room = directory.prepare(key.shuffleId(), WaitPolicy.GROWTH)) {
            synchronized (this) {
                if (closed || epoch(key.shuffleId()) != epoch) {
                    return;
                }
                counters.add(ShuffleCounter.MAP_OUTPUTS_FILED, 1);
                publish(key.shuffleId(), DirectoryEntry.file(key.mapId(), partitions, dataBytes), room);
            }
        }
    }

    /** Returns a pool output, which may be freed at any time until the caller retains it; null if there is none. */
    public synchronized @Nullable MapOutput find(int shuffleId, long mapId) {
        PooledShuffle.Stored stored = stored(shuffleId, mapId);
        return stored == null ? null : stored.output();
    }

    /** Returns a pool output with a reference that the caller releases; null if there is none. */
    public synchronized @Nullable MapOutput acquire(int shuffleId, long mapId) {
        MapOutput output = find(shuffleId, mapId);
        return output != null && output.retain() ? output : null;
    }

    private PooledShuffle.@Nullable Stored stored(int shuffleId, long mapId) {
        PooledShuffle shuffle = shuffles.get(shuffleId);
        return shuffle == null ? null : shuffle.get(mapId);
    }

    /**
     * Returns candidates for demotion: shuffles to which this executor has not written for that time while it has
     * written another one, most recently written last.
     */
    synchronized List<Integer> resting(Duration quiet) {
        long now = nanoClock.getAsLong();
        boolean writing = shuffles.values().stream().anyMatch(shuffle -> shuffle.isBeingWritten(now, quiet.toNanos()));
        if (!writing) {
            return List.of();
        }
        Map<Integer, Long> ages = new HashMap<>();
        shuffles.forEach((shuffleId, shuffle) -> {
            if (!shuffle.isBeingWritten(now, quiet.toNanos())) {
                ages.put(shuffleId, shuffle.ageNanos(now));
            }
        });
        List<Integer> oldestFirst = new ArrayList<>(ages.keySet());
        oldestFirst.sort((one, other) -> Long.compare(ages.getOrDefault(other, 0L), ages.getOrDefault(one, 0L)));
        return oldestFirst;
    }

    /** Returns the outputs of a shuffle that take memory, longest here first. */
    List<MapOutput> inMemory(int shuffleId) {
        List<PooledShuffle.Stored> outputs;
        synchronized (this) {
            PooledShuffle shuffle = shuffles.get(shuffleId);
            outputs = shuffle == null ? List.of() : shuffle.inMemory();
        }
        return outputs.stream()
                .sorted((one, other) -> Long.signum(one.bornNanos() - other.bornNanos()))
                .map(PooledShuffle.Stored::output)
                .toList();
    }

    /**
     * Leads readers from an output to a copy of it; the memory of the output stays as it is until
     * {@link #freeLeft}.
     *
     * @return false if the output has been removed meanwhile; the copy is freed
     */
    boolean replace(int shuffleId, MapOutput output, MapOutput copy) {
        boolean replaced;
        synchronized (this) {
            PooledShuffle shuffle = shuffles.get(shuffleId);
            replaced = !closed && shuffle != null && shuffle.replace(output, copy, nanoClock.getAsLong());
            if (replaced) {
                leftBytes += output.memoryBytes();
                directory.relocate(shuffleId, copy.entry());
            }
        }
        if (!replaced) {
            copy.close();
        }
        return replaced;
    }

    /** Frees what outputs have left that long ago; a reader who is still there finds that it has to look again. */
    void freeLeft(Duration grace) {
        List<MapOutput> free = new ArrayList<>();
        synchronized (this) {
            long now = nanoClock.getAsLong();
            shuffles.forEach((shuffleId, shuffle) -> {
                List<MapOutput> left = shuffle.takeLeft(now, grace.toNanos());
                if (!left.isEmpty()) {
                    directory.expire(shuffleId);
                    leftBytes -= left.stream().mapToLong(MapOutput::memoryBytes).sum();
                    free.addAll(left);
                }
            });
        }
        free.forEach(MapOutput::close);
    }

    /** Returns the memory that outputs have left and that is not free yet. */
    synchronized long leftBytes() {
        return leftBytes;
    }

    /** Frees what the shuffle holds here, at once where there is no reader. */
    public void removeShuffle(int shuffleId) {
        // Without the lock: disk space is released by system calls.
        for (MapOutput output : withdraw(shuffleId)) {
            ServiceFiles.remove(files, shuffleId, output);
            output.close();
        }
    }

    private synchronized Collection<MapOutput> withdraw(int shuffleId) {
        int times = epoch(shuffleId) + 1;
        // Put again at the end, so that the first one is the one removed longest ago.
        removals.remove(shuffleId);
        removals.put(shuffleId, new Removal(times, nanoClock.getAsLong()));
        if (removals.size() > MAX_REMOVALS) {
            removals.remove(removals.keySet().iterator().next());
        }
        directory.withdraw(shuffleId);
        PooledShuffle outputs = shuffles.remove(shuffleId);
        if (outputs == null) {
            return List.of();
        }
        leftBytes -= outputs.leftBytes();
        return outputs.all();
    }

    /** Frees everything; idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        shuffles.forEach((shuffleId, outputs) -> outputs.all().forEach(output -> {
            ServiceFiles.remove(files, shuffleId, output);
            output.close();
        }));
        shuffles.clear();
        directory.close();
    }

    private void publish(int shuffleId, DirectoryEntry entry, Room room) throws InterruptedException {
        if (!directory.publish(shuffleId, entry, room) && !directoryFullLogged && !directory.isAbsent()) {
            directoryFullLogged = true;
            LOG.warn(
                    "No room in the directory for map outputs of shuffle {}: peers fetch them over Spark's block"
                            + " transfer (raise spark.shuffle.rdma.pool.maxSize)",
                    shuffleId);
        }
    }
}
