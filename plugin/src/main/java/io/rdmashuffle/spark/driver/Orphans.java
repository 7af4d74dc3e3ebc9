// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.spark.rpc.PeerAddress;
import io.rdmashuffle.text.Quantities;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executors that ended while others can read their map outputs: the driver keeps them as members, and Spark keeps their
 * outputs. Those of every other executor that ends are dropped here, because Spark leaves that to storage which it was
 * told to be reliable, or to the external shuffle service.
 *
 * <pre>
 *  member -- ended, and all others share its memory, or a service serves it --> orphan
 *     |                                                                     |
 *     |  any other end                    a member joins that does not share its memory; a fetch from an orphan
 *     v                                   failed; too many bytes on its host; no shuffle has outputs in it
 *  dropped <----------------------------------------------------------------+
 * </pre>
 *
 * An orphan has no owner: nothing in its files is freed before it is dropped. In shared memory, if one fetch from an
 * orphan fails, all are dropped, since each would cost a stage another attempt.
 *
 * <p><b>Threading:</b> thread-safe. Spark's map output tracker is called with the lock held.
 *
 * <p><b>Source:</b> {@code ShuffleDriverComponents.supportsReliableStorage}, {@code DAGScheduler.handleExecutorLost}.
 */
final class Orphans {
    private static final Logger LOG = LoggerFactory.getLogger(Orphans.class);

    private final Readers readers;
    private final long maxBytes;
    private final long unknownBytes;
    private final RegistryServer registry;
    private final MapOutputs outputs;
    /** By executor id, the oldest first. */
    private final Map<String, Orphan> orphans = new LinkedHashMap<>();
    /** Bytes of living members, as far as they have reported. */
    private final Map<String, Long> bytes = new HashMap<>();
    /** Executors whose outputs are lost if they end: they have stopped themselves, or have outputs in files. */
    private final Set<String> mortal = new HashSet<>();

    /** Who reads the outputs of an executor that has ended. */
    enum Readers {
        /** Executors that share its memory; all others must. */
        SHARED_MEMORY,
        /** The external shuffle service of its host, for all. */
        SERVICE
    }

    /** Files of an executor that has ended. */
    private record Orphan(String host, long bytes) {}

    /** What Spark knows of map outputs. */
    interface MapOutputs {
        /** Removes all of an executor. */
        void removeAll(String executorId);

        /** Returns whether an executor has any. */
        boolean has(String executorId);
    }

    /**
     * Starts without orphans.
     *
     * @param maxBytes of all orphans of a host
     * @param unknownBytes assumed of an executor that has not reported
     */
    Orphans(Readers readers, long maxBytes, long unknownBytes, RegistryServer registry, MapOutputs outputs) {
        this.readers = readers;
        this.maxBytes = maxBytes;
        this.unknownBytes = unknownBytes;
        this.registry = registry;
        this.outputs = outputs;
    }

    /**
     * Notes what an executor reports.
     *
     * @param poolBytes length of its pool's files
     * @param isMortal whether it has stopped, or has map outputs outside of its pool
     */
    synchronized void reported(String executorId, long poolBytes, boolean isMortal) {
        if (orphans.containsKey(executorId)) {
            if (isMortal) {
                drop(executorId, "it has removed its files");
            }
            return;
        }
        bytes.put(executorId, poolBytes);
        if (isMortal) {
            mortal.add(executorId);
        }
    }

    /** Returns whether an executor would be kept if it ended now with its files in place. */
    synchronized boolean isWorthKeeping(String executorId) {
        Long known = bytes.get(executorId);
        return (known == null ? unknownBytes : known) <= maxBytes
                && outliving(executorId) != null
                && outputs.has(executorId);
    }

    /** Decides on an executor that Spark has removed. */
    synchronized void executorRemoved(String executorId) {
        if (orphans.containsKey(executorId)) {
            return;
        }
        Long known = bytes.remove(executorId);
        if (readers == Readers.SERVICE && known != null && known == 0) {
            // Without a pool it has Spark's files, which the service serves.
            mortal.remove(executorId);
            registry.memberRemoved(executorId);
            return;
        }
        long own = known == null ? unknownBytes : known;
        boolean isMortal = mortal.remove(executorId) || own > maxBytes;
        Member ended = isMortal ? null : outliving(executorId);
        if (ended == null || !outputs.has(executorId)) {
            registry.memberRemoved(executorId);
            outputs.removeAll(executorId);
            return;
        }
        registry.memberEnded(executorId);
        // With shared memory all are on one host, whatever containers call it.
        Orphan orphan = new Orphan(readers == Readers.SERVICE ? hostOf(ended) : "this host", own);
        orphans.put(executorId, orphan);
        LOG.info("Executor {} ended; its map outputs stay readable", executorId);
        dropOldest(orphan.host());
    }

    private void dropOldest(String host) {
        List<Map.Entry<String, Orphan>> ofHost = orphans.entrySet().stream()
                .filter(each -> each.getValue().host().equals(host))
                .toList();
        long held = ofHost.stream().mapToLong(each -> each.getValue().bytes()).sum();
        for (Map.Entry<String, Orphan> oldest : ofHost) {
            if (held <= maxBytes) {
                return;
            }
            held -= oldest.getValue().bytes();
            drop(
                    oldest.getKey(),
                    "ended executors of " + host + " hold more than " + Quantities.mebibytes(maxBytes)
                            + " (spark.shuffle.rdma.outlive.maxBytes)");
        }
    }

    private static String hostOf(Member member) {
        try {
            return PeerAddress.of(member).host();
        } catch (IllegalArgumentException e) {
            LOG.debug("The host of {} is not known", member, e);
            return "an unknown host";
        }
    }

    /**
     * Drops once more the outputs of an executor that was removed and not kept: Spark may have recorded one that was
     * written before the end after they were dropped.
     */
    synchronized void dropStragglers(String executorId) {
        if (!orphans.containsKey(executorId)) {
            outputs.removeAll(executorId);
            // A last report may have come after the end.
            bytes.remove(executorId);
            mortal.remove(executorId);
        }
    }

    /** Returns a member whose files outlive it and can be read by all others; null if it is no such member. */
    private @Nullable Member outliving(String executorId) {
        Member found = null;
        Set<Optional<String>> memories = new HashSet<>();
        for (Member member : registry.members()) {
            memories.add(memoryOf(member));
            if (member.executorId().equals(executorId) && member.address(Member.OUTLIVES) != null) {
                found = member;
            }
        }
        boolean shared = memories.size() == 1 && !memories.contains(Optional.empty());
        return shared || readers == Readers.SERVICE ? found : null;
    }

    private static Optional<String> memoryOf(Member member) {
        byte[] address = member.address(ShmFabric.NAME);
        return address == null ? Optional.empty() : ShmFabric.memoryOf(address);
    }

    /** Drops the orphans if a member that has joined cannot read them. */
    synchronized void joined(Member member) {
        if (orphans.isEmpty() || readers == Readers.SERVICE) {
            return;
        }
        Optional<String> memory = memoryOf(member);
        boolean sharesIt = registry.members().stream()
                .filter(each -> orphans.containsKey(each.executorId()))
                .allMatch(each -> memory.isPresent() && memoryOf(each).equals(memory));
        if (!sharesIt) {
            dropAll("executor " + member.executorId() + " does not share their memory");
        }
    }

    /** Drops an orphan that could not be read; in shared memory all of them. */
    synchronized void fetchFailed(String executorId) {
        if (!orphans.containsKey(executorId)) {
            return;
        }
        String why = "a task could not read from executor " + executorId;
        if (readers == Readers.SERVICE) {
            drop(executorId, why);
        } else {
            dropAll(why);
        }
    }

    /** Drops orphans that no shuffle has outputs in, after one was removed. */
    synchronized void shuffleRemoved() {
        for (String executorId : List.copyOf(orphans.keySet())) {
            if (!outputs.has(executorId)) {
                drop(executorId, "no shuffle needs them");
            }
        }
    }

    /** Drops all orphans, at the end of the application. */
    synchronized void end() {
        dropAll("the application ends");
    }

    private void dropAll(String why) {
        List.copyOf(orphans.keySet()).forEach(executorId -> drop(executorId, why));
    }

    private void drop(String executorId, String why) {
        LOG.info("Dropping the map outputs of ended executor {}: {}", executorId, why);
        orphans.remove(executorId);
        registry.memberRemoved(executorId);
        outputs.removeAll(executorId);
    }

    /** Returns whether there are orphans. */
    synchronized boolean isEmpty() {
        return orphans.isEmpty();
    }
}
