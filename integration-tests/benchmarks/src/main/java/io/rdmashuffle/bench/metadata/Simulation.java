// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Executors of one scale that join, write a shuffle, look its map outputs up and remove it; twice.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the executors.
 */
final class Simulation implements AutoCloseable {
    private static final int FIRST_SHUFFLE = 0;
    private static final int SECOND_SHUFFLE = 1;
    private final Scale scale;
    private final Effort effort;
    private final CountedDriver driver = new CountedDriver();
    private final List<SimulatedExecutor> executors = new ArrayList<>();
    private final PeerLookups lookups = new PeerLookups(SimulatedExecutor.TIMEOUT);
    private final Random random = new Random(1);

    /**
     * Extent of a measurement.
     *
     * @param rounds fresh readers
     * @param tasks later tasks of each
     * @param heapObjects how many objects to make for figures of the heap, so that they stand out; 0 leaves these
     *     figures out
     */
    record Effort(int rounds, int tasks, int heapObjects) {}

    private Simulation(Scale scale, Effort effort) {
        this.scale = scale;
        this.effort = effort;
    }

    /** Opens executors whose pools lie in a folder. */
    static Simulation open(Scale scale, Effort effort, Path folder, boolean inPlace) throws InterruptedException {
        Simulation simulation = new Simulation(scale, effort);
        boolean opened = false;
        try {
            for (int i = 0; i < scale.executors(); i++) {
                simulation.executors.add(new SimulatedExecutor(i, scale, folder, inPlace, simulation.driver));
            }
            opened = true;
            return simulation;
        } finally {
            if (!opened) {
                simulation.close();
            }
        }
    }

    /** Runs everything once. */
    Figures run() throws Exception {
        executors.forEach(SimulatedExecutor::join);
        driver.flush();
        Traffic join = driver.traffic();
        checkJoined();
        long driverHeap = RetainedHeap.bytesOf(copies(scale.executors()), driver::copy) / scale.executors();

        Latency fresh = publish(FIRST_SHUFFLE);
        remove(FIRST_SHUFFLE);
        Latency again = publish(SECOND_SHUFFLE);
        List<Long> cold = new ArrayList<>();
        List<Long> warm = new ArrayList<>();
        for (int round = 0; round < effort.rounds(); round++) {
            read(cold, warm);
        }
        Figures.Memory memory = memory();
        remove(SECOND_SHUFFLE);
        checkEmpty();
        return new Figures(
                scale,
                join,
                driver.traffic().since(join),
                driverHeap,
                fresh,
                again,
                Spread.of(cold),
                Spread.of(warm),
                memory);
    }

    private int copies(int objectsEach) {
        return effort.heapObjects() == 0 ? 0 : Math.max(1, effort.heapObjects() / objectsEach);
    }

    private void checkJoined() {
        for (SimulatedExecutor executor : executors) {
            if (executor.peers() != scale.executors() - 1) {
                throw new IllegalStateException(
                        "executor " + executor.id() + " knows " + executor.peers() + " others of " + scale.executors());
            }
        }
    }

    private Latency publish(int shuffleId) throws IOException, InterruptedException {
        long[] nanos = new long[scale.maps()];
        int done = 0;
        for (int i = 0; i < executors.size(); i++) {
            for (long mapId : scale.mapIds(shuffleId, i)) {
                nanos[done++] = executors.get(i).publish(shuffleId, mapId);
            }
        }
        return Latency.of(nanos);
    }

    private void remove(int shuffleId) {
        executors.forEach(executor -> executor.store().removeShuffle(shuffleId));
    }

    /** An executor's first task and those after it, each of another partition: neighbours run elsewhere. */
    private void read(List<Long> cold, List<Long> warm) throws IOException {
        try (PeerPaths paths = executors.get(0).freshPaths()) {
            Lookup lookup = lookup(paths);
            cold.add(lookup.run(random.nextInt(scale.partitions())));
            for (int task = 0; task < effort.tasks(); task++) {
                warm.add(lookup.run(random.nextInt(scale.partitions())));
            }
        }
    }

    /** Looks up on the first executor. */
    private Lookup lookup(PeerPaths paths) {
        List<Lookup.Remote> remote = new ArrayList<>();
        for (int i = 1; i < executors.size(); i++) {
            remote.add(new Lookup.Remote(executors.get(i).id(), mapIds(i)));
        }
        Lookup.Own own = new Lookup.Own(executors.get(0).store(), mapIds(0));
        return new Lookup(SECOND_SHUFFLE, own, remote, paths, lookups);
    }

    private List<Long> mapIds(int executor) {
        return Arrays.stream(scale.mapIds(SECOND_SHUFFLE, executor)).boxed().toList();
    }

    private Figures.Memory memory() throws Exception {
        Map<Purpose, Long> used = executors.get(0).pool().usage().usedByPurpose();
        long table = executors.get(0).tableBytes();
        List<PeerPaths> readers = new ArrayList<>();
        long cached;
        try {
            cached = RetainedHeap.bytesOf(copies(scale.maps()), () -> {
                PeerPaths paths = executors.get(0).freshPaths();
                readers.add(paths);
                lookup(paths).run(0);
                return paths;
            });
        } finally {
            readers.forEach(PeerPaths::close);
        }
        return new Figures.Memory(
                table, used.getOrDefault(Purpose.DIRECTORY, 0L) - table, used.getOrDefault(Purpose.INDEX, 0L), cached);
    }

    private void checkEmpty() {
        for (SimulatedExecutor executor : executors) {
            if (executor.pool().usage().usedBytes() != executor.tableBytes()) {
                throw new IllegalStateException("all shuffles were removed, but the pool of executor " + executor.id()
                        + " still holds " + executor.pool().usage());
            }
        }
    }

    @Override
    public void close() {
        lookups.close();
        executors.forEach(SimulatedExecutor::close);
        executors.clear();
    }
}
