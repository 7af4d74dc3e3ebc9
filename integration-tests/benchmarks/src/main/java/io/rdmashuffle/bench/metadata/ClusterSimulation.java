// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import com.sun.management.OperatingSystemMXBean;
import io.rdmashuffle.bench.metadata.ManyPeers.Reads;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberLookup;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;

/**
 * One executor of a cluster that finds the blocks of its reduce tasks in a shuffle of one wave: each core of the
 * cluster writes one map output. Paths, directories, indexes and their caches are the plugin's own; the peers have one
 * pool.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ClusterSimulation {
    private static final int SHUFFLE = 0;
    /** More reduce partitions are rare, however large the cluster. */
    private static final int MAX_PARTITIONS = 20_000;

    private static final long RECEIVE_BYTES = 64 << 20;
    private static final int TASKS = 8;

    private final Random random = new Random(1);
    private final Path folder;

    /** A cluster of equal executors. */
    record Cluster(int executors, int cores) {
        int mapOutputs() {
            return executors * cores;
        }

        int partitions() {
            return Math.min(MAX_PARTITIONS, mapOutputs());
        }

        @Override
        public String toString() {
            return executors + " executors of " + cores + " cores";
        }
    }

    /**
     * Cost of one task.
     *
     * @param reads one-sided reads
     * @param slices ranges that these read
     * @param readBytes bytes of directories and indexes
     * @param cpuNanos of all threads
     */
    record Cost(double reads, double slices, double readBytes, double cpuNanos) {}

    /**
     * Figures of one cluster.
     *
     * @param first the first task of the executor
     * @param later the mean of later ones
     * @param heapBytes kept for the shuffle and the peers
     */
    record Result(Cluster cluster, Cost first, Cost later, long heapBytes) {}

    /** Simulates with pools in a tmpfs. */
    ClusterSimulation(Path folder) {
        this.folder = folder;
    }

    Result run(Cluster cluster) throws IOException, InterruptedException {
        Scale perExecutor = new Scale(cluster.cores(), cluster.partitions(), 1);
        try (SimulatedExecutor owner = new SimulatedExecutor(0, perExecutor, folder, true, new CountedDriver());
                PeerLookups lookups = new PeerLookups(SimulatedExecutor.TIMEOUT)) {
            long[] mapIds = perExecutor.mapIds(SHUFFLE, 0);
            for (long mapId : mapIds) {
                owner.publish(SHUFFLE, mapId);
            }
            ManyPeers fabric = new ManyPeers(owner.pool());
            PoolSettings settings = new PoolSettings(folder, RECEIVE_BYTES, RECEIVE_BYTES, RECEIVE_BYTES, false);
            try (Pool pool = Pool.create(settings, fabric)) {
                List<Lookup.Remote> remote = new ArrayList<>();
                List<Long> ids = Arrays.stream(mapIds).boxed().toList();
                for (int i = 0; i < cluster.executors(); i++) {
                    remote.add(new Lookup.Remote(Integer.toString(i), ids));
                }
                Lookup.Own none = new Lookup.Own(owner.store(), List.of());
                long before = RetainedHeap.used();
                try (PeerPaths paths = new PeerPaths(
                        List.of(fabric),
                        new BlockingReads(new ReceiveLeases(pool, Duration.ZERO), SimulatedExecutor.TIMEOUT),
                        members(owner, cluster.executors()),
                        Duration.ZERO)) {
                    Lookup lookup = new Lookup(SHUFFLE, none, remote, paths, lookups);
                    Cost first = cost(fabric, lookup, cluster.partitions(), 1);
                    Cost later = cost(fabric, lookup, cluster.partitions(), TASKS);
                    return new Result(cluster, first, later, Math.max(0, RetainedHeap.used() - before));
                }
            }
        }
    }

    private static MemberLookup members(SimulatedExecutor owner, int count) {
        Map<String, byte[]> addresses =
                Map.of(ManyPeers.NAME, new byte[] {0}, PeerPaths.DIRECTORY_ADDRESS, owner.directoryAddress());
        UUID incarnation = UUID.randomUUID();
        return new MemberLookup() {
            @Override
            public Optional<Member> lookup(String executorId) {
                return Optional.of(new Member(executorId, incarnation, addresses));
            }

            @Override
            public int count() {
                return count;
            }
        };
    }

    private Cost cost(ManyPeers fabric, Lookup lookup, int partitions, int tasks) throws IOException {
        Reads before = fabric.reads();
        long cpuBefore = cpuNanos();
        for (int i = 0; i < tasks; i++) {
            lookup.run(random.nextInt(partitions));
        }
        double cpu = cpuNanos() - cpuBefore;
        Reads made = fabric.reads().since(before);
        double each = tasks;
        return new Cost(made.requests() / each, made.slices() / each, made.bytes() / each, cpu / each);
    }

    private static long cpuNanos() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
    }
}
