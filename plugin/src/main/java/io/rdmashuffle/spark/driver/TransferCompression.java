// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.spark.rpc.PeerAddress;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides for each direct shuffle whether it is compressed: where fewer than half of the pairs of executors can read
 * from one another one-sidedly, most bytes cross the network as with sort shuffle, which compresses them.
 *
 * <p>Two executors can if both have a fabric that leaves the host, or if their pools lie in the same memory. Executors
 * that Spark knows, but that have not announced themselves yet, are taken to be like those that have.
 *
 * <p><b>Threading:</b> thread-safe; Spark is asked without a lock held. <b>Ownership:</b> keeps what writers were told
 * until {@link #forget}; the other decisions go with the shuffle's handle.
 */
final class TransferCompression {
    private static final Logger LOG = LoggerFactory.getLogger(TransferCompression.class);

    /** Addresses of a member through which no other host's memory is read. */
    private static final Set<String> WITHIN_A_HOST =
            Set.of(ShmFabric.NAME, PeerAddress.NAME, PeerPaths.DIRECTORY_ADDRESS);

    private final Supplier<List<Member>> members;
    private final Supplier<Map<String, String>> hosts;
    /** What writers were told. */
    private final Map<Integer, Boolean> decided = new ConcurrentHashMap<>();

    private final AtomicBoolean compresses = new AtomicBoolean();

    /**
     * Begins without decisions.
     *
     * @param members executors that have announced themselves
     * @param hosts of all executors that Spark knows, by executor id
     */
    TransferCompression(Supplier<List<Member>> members, Supplier<Map<String, String>> hosts) {
        this.members = members;
        this.hosts = hosts;
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
        boolean compressed = !isMostlyOneSided(members.get(), hosts.get());
        if (compresses.getAndSet(compressed) != compressed) {
            LOG.info(
                    "Shuffles are {} from shuffle {} on: {} of the pairs of executors can read one-sidedly"
                            + " (spark.shuffle.compress, spark.shuffle.rdma.fabric.mode)",
                    compressed ? "compressed" : "bare",
                    shuffleId,
                    compressed ? "fewer than half" : "at least half");
        }
        return compressed;
    }

    /** Drops the decision for a shuffle that has been removed. */
    void forget(int shuffleId) {
        decided.remove(shuffleId);
    }

    /**
     * Returns whether at least half of the pairs of executors have a one-sided path; one executor alone reads all that
     * it reads from itself.
     */
    static boolean isMostlyOneSided(Collection<Member> members, Map<String, String> hosts) {
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
        boolean networked = members.stream().anyMatch(TransferCompression::leavesTheHost);
        hosts.forEach((executorId, host) -> {
            if (!announced.contains(executorId)) {
                places.add(memoryByHost.getOrDefault(host, "host " + host), networked);
            }
        });
        return 2 * places.oneSidedPairs() >= places.pairs();
    }

    private static String memoryOf(Member member) {
        byte[] address = member.address(ShmFabric.NAME);
        String alone = "executor " + member.executorId();
        return address == null ? alone : ShmFabric.memoryOf(address).orElse(alone);
    }

    private static boolean leavesTheHost(Member member) {
        return !WITHIN_A_HOST.containsAll(member.addresses().keySet());
    }

    /** Counts executors by the memory that they share. */
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

        /** Pairs that share memory, and pairs over the network that do not. */
        long oneSidedPairs() {
            return pairsWithin(all) + pairsOf(sum(networked)) - pairsWithin(networked);
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
