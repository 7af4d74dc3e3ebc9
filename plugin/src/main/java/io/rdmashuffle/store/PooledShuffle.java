// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.MapOutput;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The map outputs of one shuffle that are in this executor's pool, and the memory that some of them have left and that
 * peers may still be reading.
 *
 * <p><b>Threading:</b> none; the lock of the {@link MapOutputStore} guards it.
 *
 * <p><b>Ownership:</b> of the store, which closes what {@link #all} returns.
 */
final class PooledShuffle {
    private final Map<Long, Stored> outputs = new HashMap<>();
    /** Longest left first. */
    private final Deque<Left> left = new ArrayDeque<>();

    private boolean written;
    private long lastWrittenNanos;

    /** An output, and when the task that wrote it was done with it. */
    record Stored(MapOutput output, long bornNanos) {}

    /** An output of which there is a copy elsewhere now, and since when readers are led there. */
    private record Left(MapOutput output, long sinceNanos) {}

    /** Accepts an output that a task of this executor has written; returns the one of the same map id before it. */
    @Nullable
    MapOutput put(MapOutput output, long nowNanos) {
        written = true;
        lastWrittenNanos = nowNanos;
        Stored previous = outputs.put(output.entry().mapId(), new Stored(output, nowNanos));
        return previous == null ? null : previous.output();
    }

    /** Accepts an output that another executor wrote; false if there is one of that map id. */
    boolean adopt(MapOutput output, long bornNanos) {
        return outputs.putIfAbsent(output.entry().mapId(), new Stored(output, bornNanos)) == null;
    }

    @Nullable
    Stored get(long mapId) {
        return outputs.get(mapId);
    }

    Set<Long> mapIds() {
        return outputs.keySet();
    }

    /** Returns whether a task of this executor has written an output within so long. */
    boolean isBeingWritten(long nowNanos, long withinNanos) {
        return written && nowNanos - lastWrittenNanos < withinNanos;
    }

    /** Returns for how long no output has come, by the newest one. */
    long ageNanos(long nowNanos) {
        return outputs.values().stream()
                .mapToLong(stored -> nowNanos - stored.bornNanos())
                .min()
                .orElse(0);
    }

    /** Returns the outputs that take memory, in any order. */
    List<Stored> inMemory() {
        return outputs.values().stream()
                .filter(stored -> stored.output().memoryBytes() > 0)
                .toList();
    }

    /** Replaces an output by a copy; false if it is not here any more. */
    boolean replace(MapOutput output, MapOutput copy, long nowNanos) {
        Stored present = outputs.get(output.entry().mapId());
        if (present == null || present.output() != output) {
            return false;
        }
        outputs.put(output.entry().mapId(), new Stored(copy, present.bornNanos()));
        left.add(new Left(output, nowNanos));
        return true;
    }

    /** Removes and returns outputs that were superseded that long ago. */
    List<MapOutput> takeLeft(long nowNanos, long forNanos) {
        List<MapOutput> taken = new ArrayList<>();
        for (Left first = left.peek();
                first != null && nowNanos - first.sinceNanos() >= forNanos;
                first = left.peek()) {
            left.remove();
            taken.add(first.output());
        }
        return taken;
    }

    /** Returns the memory that has been left and is not free yet. */
    long leftBytes() {
        return left.stream().mapToLong(each -> each.output().memoryBytes()).sum();
    }

    /** Returns all outputs, superseded ones included. */
    Collection<MapOutput> all() {
        List<MapOutput> all = new ArrayList<>(outputs.size() + left.size());
        outputs.values().forEach(stored -> all.add(stored.output()));
        left.forEach(each -> all.add(each.output()));
        return all;
    }
}
