// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.text.Quantities;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executors that ended while others can read their map outputs: the driver keeps them as members, and Spark keeps their
 * outputs. Those of every other executor that ends are dropped here, because Spark leaves that to storage which it was
 * told to be reliable.
 *
 * <pre>
 *  member -- ended without a last report, all others share its memory --> orphan
 *     |                                                                     |
 *     |  any other end                    a member joins that does not share its memory; a fetch from an orphan
 *     v                                   failed; too many bytes; no shuffle has outputs in it
 *  dropped <----------------------------------------------------------------+
 * </pre>
 *
 * An orphan has no owner: its files are read in place, and nothing in them is freed before it is dropped. If one fetch
 * from an orphan fails, all are dropped, since each would cost a stage another attempt.
 *
 * <p><b>Threading:</b> thread-safe. Spark's map output tracker is called with the lock held.
 *
 * <p><b>Source:</b> {@code ShuffleDriverComponents.supportsReliableStorage}, {@code DAGScheduler.handleExecutorLost}.
 */
final class Orphans {
    private static final Logger LOG = LoggerFactory.getLogger(Orphans.class);

    private final long maxBytes;
    private final long unknownBytes;
    private final RegistryServer registry;
    private final MapOutputs outputs;
    /** Bytes of orphans, the oldest first. */
    private final Map<String, Long> orphans = new LinkedHashMap<>();
    /** Bytes of living members, as far as they have reported. */
    private final Map<String, Long> bytes = new HashMap<>();
    /** Executors whose outputs are lost if they end: they have stopped themselves, or have outputs in files. */
    private final Set<String> mortal = new HashSet<>();

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
     * @param maxBytes of all orphans
     * @param unknownBytes assumed of an executor that has not reported
     */
    Orphans(long maxBytes, long unknownBytes, RegistryServer registry, MapOutputs outputs) {
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

    /** Decides on an executor that Spark has removed. */
    synchronized void executorRemoved(String executorId) {
        if (orphans.containsKey(executorId)) {
            return;
        }
        Long known = bytes.remove(executorId);
        long own = known == null ? unknownBytes : known;
        boolean isMortal = mortal.remove(executorId) || own > maxBytes;
        Optional<String> memory = isMortal ? Optional.empty() : sharedMemory(executorId);
        if (memory.isEmpty() || !outputs.has(executorId)) {
            registry.memberRemoved(executorId);
            outputs.removeAll(executorId);
            return;
        }
        registry.memberEnded(executorId);
        orphans.put(executorId, own);
        LOG.info("Executor {} ended; its map outputs stay readable in shared memory", executorId);
        long held = orphans.values().stream().mapToLong(Long::longValue).sum();
        while (held > maxBytes && !orphans.isEmpty()) {
            Map.Entry<String, Long> oldest = orphans.entrySet().iterator().next();
            held -= oldest.getValue();
            drop(
                    oldest.getKey(),
                    "ended executors hold more than " + Quantities.mebibytes(maxBytes)
                            + " (spark.shuffle.rdma.outlive.maxBytes)");
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

    /** Returns the memory that a member shares with all others, if its files outlive it. */
    private Optional<String> sharedMemory(String executorId) {
        Optional<String> memory = Optional.empty();
        Set<Optional<String>> all = new HashSet<>();
        for (Member member : registry.members()) {
            Optional<String> of = memoryOf(member);
            all.add(of);
            if (member.executorId().equals(executorId) && member.address(Member.OUTLIVES) != null) {
                memory = of;
            }
        }
        return all.size() == 1 ? memory : Optional.empty();
    }

    private static Optional<String> memoryOf(Member member) {
        byte[] address = member.address(ShmFabric.NAME);
        return address == null ? Optional.empty() : ShmFabric.memoryOf(address);
    }

    /** Drops the orphans if a member that has joined cannot read them. */
    synchronized void joined(Member member) {
        if (orphans.isEmpty()) {
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

    /** Drops all orphans if one of them could not be read. */
    synchronized void fetchFailed(String executorId) {
        if (orphans.containsKey(executorId)) {
            dropAll("a task could not read from executor " + executorId);
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
