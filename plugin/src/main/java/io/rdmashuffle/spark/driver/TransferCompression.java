// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.spark.metrics.CounterValues;
import io.rdmashuffle.spark.rpc.PeerAddress;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decision about the compression of each direct shuffle, by the network (ADR 22 and 31):
 *
 * <ul>
 *   <li>where fewer than half of the pairs of executors can read from one another one-sidedly, most bytes cross the
 *       network as with sort shuffle, which compresses them;
 *   <li>where they can, tasks wait for their blocks; compression saves a part of that wait, and takes time in tasks.
 * </ul>
 *
 * <p>Two executors can read one-sidedly if both have a fabric that leaves the host, or if their pools lie in the same
 * memory. Executors that Spark knows, but that have not announced themselves yet, are taken to be like the others.
 * The network's throughput is what reads have been measured to get, or the speed that network interfaces report,
 * whichever is more. The codec's time and ratio are those of samples that writers take. While any of
 * these is not known, the last comparison holds, and before the first rows stay bare. Once shuffles are compressed
 * tasks wait less, and the time of the transfer counts instead.
 *
 * <p><b>Threading:</b> thread-safe; Spark is asked without a lock held. <b>Ownership:</b> keeps what writers were told
 * until {@link #forget}, and what executors reported until {@link #executorRemoved}; the other decisions go with the
 * shuffle's handle.
 */
final class TransferCompression {
    private static final Logger LOG = LoggerFactory.getLogger(TransferCompression.class);

    /** Addresses of a member through which no other host's memory is read. */
    private static final Set<String> WITHIN_A_HOST =
            Set.of(ShmFabric.NAME, PeerAddress.NAME, PeerPaths.DIRECTORY_ADDRESS, Member.OUTLIVES, Member.HEIR);

    /** The same, and that of TCP. */
    private static final Set<String> ONLY_TCP =
            Stream.concat(WITHIN_A_HOST.stream(), Stream.of(TcpFabric.NAME)).collect(Collectors.toSet());

    /** Bytes that may come over Netty for reasons that pass. */
    private static final long FEW_BYTES = 64 << 20;

    private static final int PERCENT = 100;

    private final Supplier<List<Member>> members;
    private final Supplier<Map<String, String>> hosts;
    private final ToIntFunction<String> cores;
    /** Last report of each executor, by id. */
    private final Map<String, CounterValues> reports = new ConcurrentHashMap<>();
    /** Decisions that writers have received. */
    private final Map<Integer, Boolean> decided = new ConcurrentHashMap<>();

    private final AtomicBoolean compresses = new AtomicBoolean();
    private final RecentReads reads = new RecentReads();
    /** Whether the last comparison was in favour of compression. Guarded by this. */
    private boolean paysOff;

    /**
     * Starts without decisions.
     *
     * @param members executors that have announced themselves
     * @param hosts of all executors that Spark knows, by executor id
     * @param cores of an executor, by its id
     */
    TransferCompression(
            Supplier<List<Member>> members, Supplier<Map<String, String>> hosts, ToIntFunction<String> cores) {
        this.members = members;
        this.hosts = hosts;
        this.cores = cores;
    }

    /** Takes an executor's counters. */
    void reported(String executorId, CounterValues counters) {
        CounterValues before = reports.put(executorId, counters);
        CounterValues last = before == null ? CounterValues.ZERO : before;
        long sampled = added(ShuffleCounter.SAMPLED_BYTES, last, counters);
        if (sampled > 0) {
            reads.addSample(
                    sampled,
                    added(ShuffleCounter.SAMPLED_COMPRESSED_BYTES, last, counters),
                    added(ShuffleCounter.SAMPLED_NANOS, last, counters));
        }
    }

    private static long added(ShuffleCounter counter, CounterValues before, CounterValues after) {
        return Math.max(0, after.get(counter) - before.get(counter));
    }

    /**
     * Counts a task that has read blocks of peers.
     *
     * @param waitMillis of the time that it took, how long it waited for blocks
     * @param remoteBytes of the bytes that it read, the number from other executors
     */
    void taskEnded(long waitMillis, long runMillis, long remoteBytes, long allBytes) {
        reads.add(waitMillis, runMillis, remoteBytes, allBytes);
    }

    /** Drops what an executor has reported. */
    void executorRemoved(String executorId) {
        reports.remove(executorId);
    }

    /** Decides, unless no executor has announced itself yet. */
    NetworkCompression atRegistration(int shuffleId) {
        if (members.get().isEmpty()) {
            return NetworkCompression.ASK_DRIVER;
        }
        return compressesNow(shuffleId) ? NetworkCompression.ON : NetworkCompression.OFF;
    }

    /** Returns whether a shuffle whose writers ask is compressed; the same whenever it is asked about. */
    boolean decide(int shuffleId) {
        Boolean known = decided.get(shuffleId);
        if (known != null) {
            return known;
        }
        boolean compressed = compressesNow(shuffleId);
        Boolean first = decided.putIfAbsent(shuffleId, compressed);
        return first == null ? compressed : first;
    }

    private boolean compressesNow(int shuffleId) {
        List<Member> announced = members.get();
        Map<String, String> known = hosts.get();
        // A late report of one that has been removed would stay for ever.
        reports.keySet().retainAll(announced.stream().map(Member::executorId).collect(Collectors.toSet()));
        Places places = places(announced, known);
        double megabits = megabitsOfCore(announced, known);
        double savedMillis;
        double codecMillis;
        boolean compressed;
        synchronized (this) {
            savedMillis = savedMillis(places, megabits);
            codecMillis = reads.codecMillis();
            compressed =
                    paysOff(places, megabits, savedMillis, codecMillis) || 2 * places.oneSidedPairs() < places.pairs();
        }
        if (compresses.getAndSet(compressed) != compressed) {
            LOG.info(
                    "Shuffles are {} from shuffle {} on: {} of {} pairs of executors can read one-sidedly, {} of them"
                            + " over a network with {} Mb/s per core; tasks that read wait {} % of their time."
                            + " Compression to {} % saves {} ms of it and takes {} ms"
                            + " (spark.shuffle.compress, spark.shuffle.rdma.fabric.mode)",
                    compressed ? "compressed" : "bare",
                    shuffleId,
                    places.oneSidedPairs(),
                    places.pairs(),
                    places.networkedPairs(),
                    megabits > 0 ? Math.round(megabits) : "unknown",
                    reads.waitPercent(),
                    Math.round(PERCENT * (1 - reads.savedShare())),
                    Math.round(savedMillis),
                    Math.round(codecMillis));
        }
        return compressed;
    }

    private double savedMillis(Places places, double megabits) {
        if (megabits == 0 || places.networkedPairs() == 0) {
            return 0;
        }
        double networked = (double) places.networkedPairs() / places.pairs();
        return reads.savedMillis(megabits, networked, paysOff);
    }

    /** Compares; where figures are missing, as after a long pause, the last comparison holds. */
    private boolean paysOff(Places places, double megabits, double savedMillis, double codecMillis) {
        if (places.networkedPairs() == 0) {
            return false;
        }
        if (megabits > 0 && reads.areKnown()) {
            paysOff = savedMillis > codecMillis;
        }
        return paysOff;
    }

    /**
     * Returns the Mb/s that the network has for a core; 0 if that is not known. Reads that asked for less than the
     * network carries show less, so a higher speed of the interfaces counts.
     */
    private double megabitsOfCore(Collection<Member> announced, Map<String, String> known) {
        return Math.max(measuredMegabitsOfCore(announced), reportedMegabitsOfCore(announced, known));
    }

    private double measuredMegabitsOfCore(Collection<Member> announced) {
        long megabits = 0;
        long sharing = 0;
        for (Member member : announced) {
            CounterValues counters = reports.get(member.executorId());
            long measured = counters == null ? 0 : counters.get(ShuffleCounter.READ_MEGABITS);
            int own = cores.applyAsInt(member.executorId());
            if (measured > 0 && own > 0) {
                megabits += measured;
                sharing += own;
            }
        }
        return sharing > 0 ? (double) megabits / sharing : 0;
    }

    /** By the speed that the network interface of each host reports; its executors share it. */
    private double reportedMegabitsOfCore(Collection<Member> announced, Map<String, String> known) {
        Map<String, Integer> speeds = new HashMap<>();
        for (Member member : announced) {
            byte[] address = member.address(TcpFabric.NAME);
            String host = known.get(member.executorId());
            // The address says nothing of the speed of RDMA.
            if (address != null
                    && host != null
                    && ONLY_TCP.containsAll(member.addresses().keySet())) {
                speeds.merge(host, TcpFabric.linkMegabits(address), Math::max);
            }
        }
        speeds.values().removeIf(speed -> speed == 0);
        Map<String, Integer> coresByHost = new HashMap<>();
        known.forEach((executorId, host) -> coresByHost.merge(host, cores.applyAsInt(executorId), Integer::sum));
        long megabits = 0;
        long sharing = 0;
        for (Map.Entry<String, Integer> speed : speeds.entrySet()) {
            int own = coresByHost.getOrDefault(speed.getKey(), 0);
            if (own > 0) {
                megabits += speed.getValue();
                sharing += own;
            }
        }
        return sharing > 0 ? (double) megabits / sharing : 0;
    }

    /** Drops the decision for a shuffle that has been removed. */
    void forget(int shuffleId) {
        decided.remove(shuffleId);
    }

    /** Returns the placement of executors; a single executor has no pairs, and reads only from itself. */
    private Places places(Collection<Member> members, Map<String, String> hosts) {
        Map<String, String> memoryByHost = new HashMap<>();
        Places places = new Places();
        Set<String> announced = new HashSet<>();
        for (Member member : members) {
            String memory = memoryOf(member);
            announced.add(member.executorId());
            String host = hosts.get(member.executorId());
            if (host != null) {
                memoryByHost.put(host, memory);
            }
            places.add(memory, leavesTheHost(member));
        }
        boolean networked = members.stream().anyMatch(this::leavesTheHost);
        hosts.forEach((executorId, host) -> {
            if (!announced.contains(executorId)) {
                places.add(memoryByHost.getOrDefault(host, "host " + host), networked);
            }
        });
        return places;
    }

    private static String memoryOf(Member member) {
        byte[] address = member.address(ShmFabric.NAME);
        String alone = "executor " + member.executorId();
        return address == null ? alone : ShmFabric.memoryOf(address).orElse(alone);
    }

    /** Returns whether a member offers memory beyond its host, and does not get most bytes over Netty nevertheless. */
    private boolean leavesTheHost(Member member) {
        Set<String> fabrics = member.addresses().keySet();
        byte[] tcp = member.address(TcpFabric.NAME);
        boolean offers = !WITHIN_A_HOST.containsAll(fabrics)
                && (tcp == null || !ONLY_TCP.containsAll(fabrics) || TcpFabric.isListening(tcp));
        CounterValues counters = reports.get(member.executorId());
        return offers && (counters == null || !isServedByNetty(counters));
    }

    /** Returns whether reads over the network fail, as behind a firewall. */
    private static boolean isServedByNetty(CounterValues counters) {
        return counters.get(ShuffleCounter.NETTY_BYTES)
                > counters.get(ShuffleCounter.TCP_BYTES) + counters.get(ShuffleCounter.VERBS_BYTES) + FEW_BYTES;
    }

    /** Counts of executors by shared memory. */
    private static final class Places {
        private final Map<String, Integer> all = new HashMap<>();
        private final Map<String, Integer> networked = new HashMap<>();

        void add(String memory, boolean leavesTheHost) {
            all.merge(memory, 1, Integer::sum);
            if (leavesTheHost) {
                networked.merge(memory, 1, Integer::sum);
            }
        }

        long pairs() {
            return pairsOf(sum(all));
        }

        long oneSidedPairs() {
            return pairsWithin(all) + networkedPairs();
        }

        /** Pairs that read from one another one-sidedly over a network, since they share no memory. */
        long networkedPairs() {
            return pairsOf(sum(networked)) - pairsWithin(networked);
        }

        private static long sum(Map<String, Integer> counts) {
            return counts.values().stream().mapToLong(Integer::longValue).sum();
        }

        private static long pairsWithin(Map<String, Integer> counts) {
            return counts.values().stream().mapToLong(Places::pairsOf).sum();
        }

        private static long pairsOf(long executors) {
            return executors * (executors - 1) / 2;
        }
    }
}
