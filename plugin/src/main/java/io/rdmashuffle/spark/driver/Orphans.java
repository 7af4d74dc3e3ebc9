// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.spark.rpc.PeerAddress;
import io.rdmashuffle.text.Quantities;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executors that ended while others can read their map outputs: the driver keeps them as members, and Spark keeps their
 * outputs. Those of every other executor that ends are dropped here, because Spark leaves that to storage which it was
 * told to be reliable, or to the external shuffle service.
 *
 * <pre>
 *  member -- ended, and its files outlive it --> orphan --> served by an heir
 *     |                                            |    <-- the heir has ended
 *     |  any other end                             |  no heir in time; a fetch from an orphan of its host failed;
 *     |                                            |  too many bytes there; no shuffle has outputs in it;
 *     v                                            |  the last executor of its host ended in order
 *  dropped <---------------------------------------+
 * </pre>
 *
 * With an external shuffle service, bytes beyond the limit are not dropped: an executor of the host moves outputs to
 * disk, where the service serves them as before, and the member leaves. If none is there, they wait for one.
 *
 * An orphan has no owner: nothing in its files is freed before it is dropped. Executors that share its memory read it
 * in place. It needs an heir, one of these, only while there are members that do not. If one fetch from an orphan in
 * shared memory fails, all of its host are dropped, since each would cost a stage another attempt.
 *
 * <p><b>Threading:</b> thread-safe. Spark's map output tracker is called with the lock held.
 *
 * <p><b>Source:</b> {@code ShuffleDriverComponents.supportsReliableStorage}, {@code DAGScheduler.handleExecutorLost}.
 */
final class Orphans {
    private static final Logger LOG = LoggerFactory.getLogger(Orphans.class);
    /** Rounds of all executors of a host, with a pause after each. */
    private static final int MOVE_ATTEMPTS = 6;

    private final Readers readers;
    private final long maxBytes;
    private final long unknownBytes;
    private final RegistryServer registry;
    private final SparkState spark;
    private final Heirs heirs;
    /** By executor id, the oldest first. */
    private final Map<String, Orphan> orphans = new LinkedHashMap<>();
    /** Bytes of living members, as far as they have reported. */
    private final Map<String, Long> bytes = new HashMap<>();
    /** Executors whose outputs are lost if they end: they remove their files, or have outputs in others. */
    private final Set<String> mortal = new HashSet<>();
    /** Executors that have stopped and leave their files, and that Spark has not removed yet. */
    private final Set<String> leaving = new HashSet<>();
    /** Executors that have ended and whose outputs are on disk, where the external shuffle service serves them. */
    private final Set<String> onDisk = new HashSet<>();
    /** Hosts on which files of ended executors are not needed any more. */
    private final Set<String> dropped = new HashSet<>();

    private boolean hasWarnedOfBound;
    /** Whether the application has ended: nothing is kept any more. */
    private boolean isOver;

    /** Who reads the outputs of an executor that has ended. */
    enum Readers {
        /** Executors that share its memory, and all others from one of these. */
        SHARED_MEMORY,
        /** The external shuffle service of its host, for all. */
        SERVICE
    }

    /** Files of an executor that has ended. Guarded by the lock. */
    private static final class Orphan {
        private final Member ended;
        private final String host;
        private final long bytes;
        /** Executors that cannot serve it. */
        private final Set<String> tried = new HashSet<>();
        /** Executor that serves it to other hosts, or moves it to disk, or has been asked to. */
        private @Nullable String heir;

        /** Whether no executor has said yet that it serves it, though one must. */
        private boolean isSought;
        /** Counts searches for an heir, or rounds of all that could move it to disk. */
        private int searches;
        /** Whether an executor is moving it to disk, or will be asked to in a moment. */
        private boolean isMoving;

        Orphan(Member ended, String host, long bytes) {
            this.ended = ended;
            this.host = host;
            this.bytes = bytes;
        }

        void heirEnded() {
            heir = null;
            isSought = false;
            isMoving = false;
            tried.clear();
        }
    }

    /** Executors that may serve the pools of others. */
    interface Heirs {
        /**
         * Asks an executor to serve the pool of another.
         *
         * @param answer takes the other with its new addresses, or empty if it cannot be served; on another thread
         */
        void ask(String executorId, Member ended, Consumer<Optional<Member>> answer);

        /**
         * Asks an executor to move outputs of another of its host to disk, and to remove those of other shuffles.
         *
         * @param answer takes whether the pool is not needed any more; on another thread
         */
        void moveToDisk(String executorId, String ended, Set<Integer> shuffleIds, Consumer<Boolean> answer);

        /** Runs an action before the next attempt to move outputs, on another thread. */
        void afterPause(Runnable action);

        /** Runs an action when a search has lasted too long, on another thread. */
        void afterHold(Runnable action);
    }

    /** What Spark knows of executors and their map outputs. */
    interface SparkState {
        /** Removes all of an executor. */
        void removeAll(String executorId);

        /** Returns whether an executor has any. */
        boolean has(String executorId);

        /** Returns the shuffles of which an executor has outputs, or may have written one that is not recorded yet. */
        Set<Integer> shufflesOf(String executorId);

        /** Returns whether an executor will end soon. */
        boolean isDecommissioned(String executorId);

        /** Returns whether all executors of its host will end soon. */
        boolean isHostDecommissioned(String executorId);
    }

    /**
     * Starts without orphans.
     *
     * @param maxBytes of all orphans of a host
     * @param unknownBytes assumed of an executor that has not reported
     */
    Orphans(Readers readers, long maxBytes, long unknownBytes, RegistryServer registry, SparkState spark, Heirs heirs) {
        this.readers = readers;
        this.maxBytes = maxBytes;
        this.unknownBytes = unknownBytes;
        this.registry = registry;
        this.spark = spark;
        this.heirs = heirs;
    }

    /**
     * Notes what an executor reports.
     *
     * @param poolBytes length of its pool's files
     * @param isMortal whether it has map outputs outside of its pool
     */
    synchronized void reported(String executorId, long poolBytes, boolean isMortal) {
        if (!orphans.containsKey(executorId)) {
            bytes.put(executorId, poolBytes);
        }
        if (isMortal) {
            takesFilesAlong(executorId);
        }
    }

    private void takesFilesAlong(String executorId) {
        if (orphans.containsKey(executorId)) {
            drop(executorId, "it has removed its files");
        } else {
            mortal.add(executorId);
        }
    }

    /**
     * Decides on the files of an executor that has stopped: returns whether it leaves them. Those in shared memory stay
     * only if another executor is there to read them, and to remove them later; else the orphans of its host are
     * dropped, too.
     */
    synchronized boolean leavesFiles(String executorId) {
        if (onDisk.contains(executorId)) {
            return true;
        }
        Optional<String> memory = memoryOf(executorId);
        boolean isLast = readers == Readers.SHARED_MEMORY
                && siblings(executorId, memory).findAny().isEmpty();
        if (!isLast && orphans.containsKey(executorId)) {
            return true;
        }
        if (!isLast && isWanted(executorId) && fits(executorId, bytesOf(bytes.get(executorId)))) {
            leaving.add(executorId);
            return true;
        }
        takesFilesAlong(executorId);
        if (isLast) {
            String why = "the last executor of its host ends";
            List.copyOf(orphans.values()).stream()
                    .filter(orphan -> memory.equals(Optional.of(orphan.host)))
                    .forEach(orphan -> drop(orphan.ended.executorId(), why));
            List.copyOf(leaving).stream()
                    .filter(other -> memory.isPresent() && memory.equals(memoryOf(other)))
                    .forEach(other -> drop(other, why));
        }
        return false;
    }

    /**
     * Returns whether an executor that is being decommissioned may leave its files when it has stopped, so that nothing
     * need be moved: another executor of its host stays.
     */
    synchronized boolean mayLeaveFiles(String executorId) {
        return readers == Readers.SHARED_MEMORY
                && isWanted(executorId)
                && bytesOf(bytes.get(executorId)) <= maxBytes
                && !spark.isHostDecommissioned(executorId)
                && siblings(executorId, memoryOf(executorId)).anyMatch(other -> !spark.isDecommissioned(other));
    }

    /** Returns whether outputs were dropped on the host of an executor, whose files it may have to remove. */
    synchronized boolean hasDroppedOnHostOf(String executorId) {
        return member(executorId)
                .flatMap(this::hostOfFiles)
                .filter(dropped::contains)
                .isPresent();
    }

    /** Returns the host of a member's files. Containers with one memory are one host, whatever they call it. */
    private Optional<String> hostOfFiles(Member member) {
        return readers == Readers.SERVICE ? Optional.of(hostOf(member)) : memoryOf(member);
    }

    private boolean isWanted(String executorId) {
        return !isOver && !mortal.contains(executorId) && outliving(executorId) != null && spark.has(executorId);
    }

    private long bytesOf(@Nullable Long known) {
        return known == null ? unknownBytes : known;
    }

    /** Returns whether an executor that ends may be kept, by its bytes; warns if not. */
    private boolean fits(String executorId, long own) {
        if (own > maxBytes && readers == Readers.SHARED_MEMORY) {
            warnOfBound(executorId);
            return false;
        }
        return true;
    }

    /** Returns the other executors that have not stopped and share the memory. */
    private Stream<String> siblings(String executorId, Optional<String> memory) {
        return living().stream()
                .filter(member -> memory.isPresent() && memoryOf(member).equals(memory))
                .map(Member::executorId)
                .filter(other -> !other.equals(executorId) && !leaving.contains(other));
    }

    private Optional<String> memoryOf(String executorId) {
        return member(executorId).flatMap(Orphans::memoryOf);
    }

    private Optional<Member> member(String executorId) {
        return registry.members().stream()
                .filter(member -> member.executorId().equals(executorId))
                .findAny();
    }

    /** Decides on an executor that Spark has removed. */
    synchronized void executorRemoved(String executorId) {
        leaving.remove(executorId);
        if (orphans.containsKey(executorId) || onDisk.contains(executorId)) {
            return;
        }
        orphans.values().stream()
                .filter(orphan -> executorId.equals(orphan.heir))
                .forEach(Orphan::heirEnded);
        decide(executorId);
        tend();
    }

    /** Has executors of each host do what its orphans need. */
    private void tend() {
        if (readers == Readers.SHARED_MEMORY) {
            findHeirs();
        } else {
            orphans.values().stream()
                    .map(orphan -> orphan.host)
                    .distinct()
                    .toList()
                    .forEach(this::relieve);
        }
    }

    private void decide(String executorId) {
        Long known = bytes.remove(executorId);
        if (readers == Readers.SERVICE && known != null && known == 0) {
            // Without a pool it has Spark's files, which the service serves.
            mortal.remove(executorId);
            registry.memberRemoved(executorId);
            return;
        }
        long own = bytesOf(known);
        boolean isMortal = mortal.remove(executorId) || isOver;
        Member ended = isMortal ? null : outliving(executorId);
        if (ended == null || !spark.has(executorId) || !fits(executorId, own)) {
            registry.memberRemoved(executorId);
            spark.removeAll(executorId);
            return;
        }
        registry.memberEnded(executorId);
        Orphan orphan = new Orphan(ended, hostOfFiles(ended).orElseThrow(), own);
        orphans.put(executorId, orphan);
        LOG.info("Executor {} ended; its map outputs stay readable", executorId);
        relieve(orphan.host);
    }

    /** Keeps a host below the limit: the oldest are moved to disk for a service, or else dropped. */
    private void relieve(String host) {
        List<Map.Entry<String, Orphan>> ofHost = orphans.entrySet().stream()
                .filter(each -> each.getValue().host.equals(host))
                .toList();
        if (ofHost.stream().anyMatch(each -> each.getValue().isMoving)) {
            // One after another: the disk is not faster with two.
            return;
        }
        long held = bytesOn(host);
        for (Map.Entry<String, Orphan> oldest : ofHost) {
            if (held <= maxBytes) {
                return;
            }
            held -= oldest.getValue().bytes;
            if (readers == Readers.SERVICE) {
                moveToDisk(oldest.getValue());
                return;
            }
            dropBeyondBound(oldest.getKey(), "ended executors of its host hold more than ");
        }
    }

    private void dropBeyondBound(String executorId, String why) {
        drop(executorId, why + Quantities.mebibytes(maxBytes));
        warnOfBound(executorId);
    }

    /** Executors of its host, which could move an orphan. */
    private List<String> movers(Orphan orphan) {
        return living().stream()
                .filter(member -> hostOf(member).equals(orphan.host))
                .map(Member::executorId)
                .filter(id -> !leaving.contains(id))
                .toList();
    }

    private void moveToDisk(Orphan orphan) {
        String executorId = orphan.ended.executorId();
        List<String> movers = movers(orphan);
        Optional<String> mover = movers.stream()
                .filter(id -> !orphan.tried.contains(id))
                .min(Comparator.comparing(spark::isDecommissioned));
        if (mover.isPresent()) {
            orphan.isMoving = true;
            orphan.heir = mover.get();
            orphan.tried.add(mover.get());
            Set<Integer> shuffleIds = spark.shufflesOf(executorId);
            heirs.moveToDisk(mover.get(), executorId, shuffleIds, isDone -> moved(executorId, mover.get(), isDone));
        } else if (!movers.isEmpty()) {
            orphan.isMoving = true;
            heirs.afterPause(() -> moveAgain(executorId));
        }
    }

    private synchronized void moved(String executorId, String mover, boolean isDone) {
        Orphan orphan = orphans.get(executorId);
        if (orphan != null && mover.equals(orphan.heir)) {
            orphan.heir = null;
            orphan.isMoving = false;
            if (isDone) {
                LOG.info("The map outputs of ended executor {} are on disk, for the shuffle service", executorId);
                onDisk.add(executorId);
                leave(executorId);
            }
        }
        tend();
    }

    /** Each executor of the host has failed: a disk may be full, or the service may be starting again. */
    private synchronized void moveAgain(String executorId) {
        Orphan orphan = orphans.get(executorId);
        if (orphan == null || !orphan.isMoving || orphan.heir != null) {
            return;
        }
        String host = orphan.host;
        List<String> movers = movers(orphan);
        orphan.isMoving = false;
        orphan.tried.clear();
        orphan.searches = movers.isEmpty() ? 0 : orphan.searches + 1;
        if (orphan.searches >= MOVE_ATTEMPTS && bytesOn(host) > maxBytes) {
            dropBeyondBound(executorId, "no executor of " + host + " could move them to disk; the limit is ");
            heirs.moveToDisk(movers.get(0), executorId, Set.of(), isDone -> {});
        }
        relieve(host);
    }

    private long bytesOn(String host) {
        return orphans.values().stream()
                .filter(orphan -> orphan.host.equals(host))
                .mapToLong(orphan -> orphan.bytes)
                .sum();
    }

    /** Spark writes outputs again that would be there with more memory. */
    private void warnOfBound(String executorId) {
        if (!hasWarnedOfBound) {
            hasWarnedOfBound = true;
            LOG.warn(
                    "The map outputs of ended executor {} are written again: ended executors of a host may hold {}"
                            + " (spark.shuffle.rdma.outlive.maxBytes)",
                    executorId,
                    Quantities.mebibytes(maxBytes));
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
            if (!onDisk.contains(executorId)) {
                spark.removeAll(executorId);
            }
            // A last report may have come after the end.
            bytes.remove(executorId);
            mortal.remove(executorId);
        }
    }

    /** Returns a member whose files outlive it; null if it is no such member. */
    private @Nullable Member outliving(String executorId) {
        return member(executorId)
                .filter(member -> member.address(Member.OUTLIVES) != null)
                .filter(member -> readers == Readers.SERVICE || memoryOf(member).isPresent())
                .orElse(null);
    }

    /** Has each orphan served that executors of other hosts read, and is not. */
    private void findHeirs() {
        List<Member> living = living();
        orphans.values().forEach(orphan -> findHeir(orphan, living));
    }

    private List<Member> living() {
        return registry.members().stream()
                .filter(member -> !orphans.containsKey(member.executorId()))
                .toList();
    }

    private static boolean isReadElsewhere(Orphan orphan, List<Member> living) {
        return !living.stream().map(Orphans::memoryOf).allMatch(Optional.of(orphan.host)::equals);
    }

    private void findHeir(Orphan orphan, List<Member> living) {
        if (orphan.heir != null || !isReadElsewhere(orphan, living)) {
            return;
        }
        Optional<String> memory = Optional.of(orphan.host);
        String executorId = orphan.ended.executorId();
        if (!orphan.isSought) {
            orphan.isSought = true;
            int search = ++orphan.searches;
            heirs.afterHold(() -> expire(executorId, search));
        }
        living.stream()
                .filter(member -> memoryOf(member).equals(memory))
                .map(Member::executorId)
                .filter(id -> !orphan.tried.contains(id) && !leaving.contains(id))
                .min(Comparator.comparing(spark::isDecommissioned).thenComparingLong(this::poolsServedBy))
                .ifPresent(heir -> {
                    orphan.heir = heir;
                    orphan.tried.add(heir);
                    heirs.ask(heir, orphan.ended, answer -> answered(executorId, heir, answer));
                });
    }

    private long poolsServedBy(String executorId) {
        return orphans.values().stream()
                .filter(orphan -> executorId.equals(orphan.heir))
                .count();
    }

    private synchronized void answered(String executorId, String heir, Optional<Member> served) {
        Orphan orphan = orphans.get(executorId);
        if (orphan == null || !heir.equals(orphan.heir)) {
            return;
        }
        if (served.isPresent()) {
            LOG.info("Executor {} serves the map outputs of executor {}, which has ended", heir, executorId);
            orphan.isSought = false;
            registry.memberInherited(served.get());
        } else {
            orphan.heir = null;
            tend();
        }
    }

    /** Drops an orphan for which no heir was found in time; its readers do not wait any longer. */
    private synchronized void expire(String executorId, int search) {
        Orphan orphan = orphans.get(executorId);
        if (orphan == null || !orphan.isSought || orphan.searches != search) {
            return;
        }
        if (isReadElsewhere(orphan, living())) {
            drop(
                    executorId,
                    "no executor of its host serves them to other hosts in time (spark.shuffle.rdma.outlive.hold)");
        } else {
            orphan.heirEnded();
        }
    }

    private static Optional<String> memoryOf(Member member) {
        byte[] address = member.address(ShmFabric.NAME);
        return address == null ? Optional.empty() : ShmFabric.memoryOf(address);
    }

    /** Notes a member that has joined: it may need an heir of orphans on other hosts, or become one on its own. */
    synchronized void joined() {
        tend();
    }

    /** Drops an orphan that could not be read; in shared memory all of its host. */
    synchronized void fetchFailed(String executorId) {
        Orphan failed = orphans.get(executorId);
        if (failed == null) {
            return;
        }
        String why = "a task could not read from executor " + executorId;
        for (Orphan each : List.copyOf(orphans.values())) {
            if (each == failed || (readers == Readers.SHARED_MEMORY && each.host.equals(failed.host))) {
                drop(each.ended.executorId(), why);
            }
        }
        tend();
    }

    /** Drops orphans that no shuffle has outputs in, after one was removed. */
    synchronized void shuffleRemoved() {
        for (String executorId : List.copyOf(orphans.keySet())) {
            if (!spark.has(executorId)) {
                drop(executorId, "no shuffle needs them");
            }
        }
        tend();
    }

    /** Drops all orphans, at the end of the application. */
    synchronized void end() {
        isOver = true;
        Set<String> all = new LinkedHashSet<>(orphans.keySet());
        all.addAll(leaving);
        all.forEach(executorId -> drop(executorId, "the application ends"));
    }

    private void drop(String executorId, String why) {
        LOG.info("Dropping the map outputs of ended executor {}: {}", executorId, why);
        leave(executorId);
        spark.removeAll(executorId);
    }

    /** Ends the membership; executors of the host remove the files. */
    private void leave(String executorId) {
        member(executorId).flatMap(this::hostOfFiles).ifPresent(dropped::add);
        orphans.remove(executorId);
        leaving.remove(executorId);
        registry.memberRemoved(executorId);
    }

    /** Returns whether there are orphans. */
    synchronized boolean isEmpty() {
        return orphans.isEmpty();
    }
}
