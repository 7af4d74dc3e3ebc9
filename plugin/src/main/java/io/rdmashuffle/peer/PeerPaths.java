// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.directory.DirectoryFormatException;
import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberLookup;
import io.rdmashuffle.registry.MembershipListener;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.text.Quantities;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Paths to peers: the best fabric for each one, and quarantine of failed ones.
 *
 * <p>A path that failed is given up for a while, during which the next fabric that reaches the peer is used, or Spark's
 * block transfer; then it is tried again, and reads of the path that it replaces are served by Spark's block transfer.
 * One that is not connected gives way to the next fabric, if there is one, for longer each time, and so does one whose
 * peer is gone. A member that leaves is not read from any more, and reads here no more.
 *
 * <p><b>Threading:</b> thread-safe; connecting to one peer does not hold up the others.
 *
 * <p><b>Ownership:</b> owns the peers that it connected; the fabrics are the caller's.
 */
public final class PeerPaths implements MembershipListener, AutoCloseable {
    /** Under this name a member announces where its directory is, beside the addresses of its fabrics. */
    public static final String DIRECTORY_ADDRESS = "directory";

    /** Stands for Spark's block transfer where others are names of fabrics. */
    public static final String NO_FABRIC = "netty";

    private static final Logger LOG = LoggerFactory.getLogger(PeerPaths.class);

    /** A fabric that never connects is tried once in this time; one that served as long has connected. */
    private static final Duration MAX_PAUSE = Duration.ofMinutes(10);
    /** Before a peer that no fabric reaches is looked for again, also without a quarantine. */
    private static final Duration MIN_PAUSE_WITHOUT_PATH = Duration.ofSeconds(1);

    /** In a larger cluster most peers have nothing of a shuffle, and each would be asked for each shuffle. */
    private static final int MAX_EARLY_PEERS = 64;

    private final List<Fabric> fabrics;
    private final BlockingReads reads;
    private final IndexCache indexes;
    private final MemberLookup members;
    private final Duration quarantine;
    private final Duration retryTimeout;
    private final LongSupplier nanoTime;
    private final Map<String, Route> routes = new ConcurrentHashMap<>();
    /** Shuffles for which peers have been asked early. */
    private final Set<Integer> early = ConcurrentHashMap.newKeySet();

    /** Fabrics that did not reach a peer, which was logged once for each. */
    private final Set<String> explained = ConcurrentHashMap.newKeySet();

    private final LongAdder quarantines = new LongAdder();
    private volatile boolean closed;

    /**
     * Creates the paths of one executor.
     *
     * @param fabrics best first; empty means that every peer is served by Spark's block transfer
     * @param members finds members
     * @param quarantine how long a path that failed is not used
     */
    public PeerPaths(List<Fabric> fabrics, BlockingReads reads, MemberLookup members, Duration quarantine) {
        this(fabrics, reads, members, quarantine, RemoteDirectory.RETRY_TIMEOUT);
    }

    /** Sets how long a record of a directory may take to become whole; for tests that damage many. */
    public PeerPaths(
            List<Fabric> fabrics,
            BlockingReads reads,
            MemberLookup members,
            Duration quarantine,
            Duration retryTimeout) {
        this(fabrics, reads, members, quarantine, retryTimeout, System::nanoTime);
    }

    /** Sets a clock as well, for tests. */
    PeerPaths(
            List<Fabric> fabrics,
            BlockingReads reads,
            MemberLookup members,
            Duration quarantine,
            Duration retryTimeout,
            LongSupplier nanoTime) {
        this.fabrics = List.copyOf(fabrics);
        this.reads = reads;
        this.members = members;
        this.indexes = IndexCache.ofHeap(members::count);
        this.quarantine = quarantine;
        this.retryTimeout = retryTimeout;
        this.nanoTime = nanoTime;
    }

    /** Returns the path to an executor, or null when only Spark's block transfer leads there now. */
    @Nullable
    public PeerPath to(String executorId) {
        if (fabrics.isEmpty() || closed) {
            return null;
        }
        return routes.computeIfAbsent(executorId, Route::new).path();
    }

    /**
     * Returns the path to an executor if it was found before; null also where {@link #to} would find one, or a better
     * one.
     */
    @Nullable
    public PeerPath known(String executorId) {
        Route route = routes.get(executorId);
        return route == null ? null : route.best();
    }

    /**
     * Returns whether {@link #to} would look for a path, and may wait for the driver: not if the best one is known, nor
     * if none was found lately.
     */
    public boolean isToBeFound(String executorId) {
        if (fabrics.isEmpty() || closed) {
            return false;
        }
        Route route = routes.get(executorId);
        return route == null || route.isToBeFound();
    }

    /** Returns all paths that were found before. */
    public List<PeerPath> known() {
        return routes.values().stream()
                .map(route -> route.known)
                .filter(Objects::nonNull)
                .toList();
    }

    /**
     * Returns the peers that may be asked for a shuffle before the driver has said which of them have some of it: once
     * for each shuffle, and none in a large cluster, where most would be asked in vain.
     */
    public List<PeerPath> takeEarly(int shuffleId) {
        List<PeerPath> known = known();
        return known.size() <= MAX_EARLY_PEERS && early.add(shuffleId) ? known : List.of();
    }

    /** Finds a path as {@link #to} does and reads over it; returns the result, or the reason why there is none. */
    public PathProbe probe(String executorId) throws InterruptedIOException {
        PeerPath path = to(executorId);
        Route route = routes.get(executorId);
        if (path != null) {
            return PathProbe.over(
                    executorId,
                    path.counter().label(),
                    path.peer(),
                    path.directory().location(),
                    reads,
                    route == null ? "" : route.passedOver);
        }
        return PathProbe.none(executorId, route == null ? "this executor has no one-sided fabric" : route.reason());
    }

    /**
     * Reports a failed read: its path is given up if other reads can be expected to fail as well, and one that is not
     * connected if another fabric reaches the peer.
     */
    public void failed(PeerPath path, ReadFailedException failure) {
        Route route = routes.get(path.executorId());
        if (!failure.reason().isFaultOfPath()) {
            boolean replaced =
                    failure.reason() == Reason.NOT_CONNECTED && route != null && route.giveWay(path, failure);
            LOG.debug(
                    "Cannot read from executor {}{}",
                    path.executorId(),
                    replaced ? "; using the next fabric for a while" : "",
                    failure);
            return;
        }
        Duration pause = route == null ? null : route.quarantine(path, failure);
        if (pause != null) {
            quarantines.increment();
            // It may have come back under another address.
            members.recheck(path.executorId());
            LOG.warn(
                    "One-sided reads from executor {} failed: {}; not reading from it by {} for {}, the next path or"
                            + " Spark's block transfer serves it (spark.shuffle.rdma.peer.quarantine)",
                    path.executorId(),
                    failure.getMessage(),
                    path.fabric(),
                    Quantities.duration(pause),
                    failure);
        }
    }

    /**
     * Drops the cached entries of a shuffle, and the mappings of peers from which nothing else is read.
     */
    public void forgetShuffle(int shuffleId) {
        early.remove(shuffleId);
        routes.values().forEach(route -> route.forget(shuffleId));
    }

    /** Releases regions that peers have released, so that their memory becomes free. */
    public void releaseAbsentRegions() {
        routes.values().forEach(Route::releaseAbsentRegions);
    }

    /** Returns the shuffles with cached directory entries. */
    public Set<Integer> shuffleIds() {
        return Stream.concat(early.stream(), routes.values().stream().flatMap(route -> route.shuffleIds().stream()))
                .collect(Collectors.toSet());
    }

    /** Returns the executors to which a path failed that is not used for a while. */
    public List<String> quarantined() {
        return routes.entrySet().stream()
                .filter(entry -> entry.getValue().isQuarantined())
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
    }

    /** Returns the number of quarantines. */
    public long quarantines() {
        return quarantines.sum();
    }

    /**
     * Returns the executors that this one has looked for a path to, by the name of the fabric that reaches them; those
     * that none reaches, for good or for a while, come under the name of {@link #NO_FABRIC}.
     */
    public Map<String, List<String>> executorsByFabric() {
        Map<String, List<String>> byFabric = new TreeMap<>();
        routes.forEach((executorId, route) -> {
            String fabric = route.fabric();
            if (fabric != null) {
                byFabric.computeIfAbsent(fabric, name -> new ArrayList<>()).add(executorId);
            }
        });
        return byFabric;
    }

    /** Returns the number of peers' indexes, or parts of them, that were read by copying. */
    public long indexReads() {
        return indexes.reads();
    }

    /** Returns the number of open regions of peers. */
    public long openRegions() {
        return routes.values().stream().mapToLong(Route::openRegions).sum();
    }

    /**
     * {@inheritDoc} Ends the reads of a removed member here, and then closes the path to it; waits for no lookup.
     */
    @Override
    public void changed(@Nullable Member before, @Nullable Member after) {
        if (before != null) {
            forEachAddress(before, Fabric::revoke);
            Route route = routes.get(before.executorId());
            if (route != null && !route.remains(before, after)) {
                routes.remove(before.executorId(), route);
                route.retire();
            }
        }
        if (after != null) {
            forEachAddress(after, Fabric::admit);
            Route route = routes.get(after.executorId());
            if (route != null) {
                route.lookAgain();
            }
        }
    }

    private void forEachAddress(Member member, BiConsumer<Fabric, byte[]> action) {
        for (Fabric fabric : fabrics) {
            byte[] address = member.address(fabric.name());
            if (address != null) {
                action.accept(fabric, address);
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        routes.values().forEach(Route::retire);
        routes.clear();
    }

    /** Returns the counter of a fabric's bytes; fabrics of other providers count as verbs. */
    private static ShuffleCounter counterOf(Fabric fabric) {
        return Stream.of(ShuffleCounter.SHM_BYTES, ShuffleCounter.TCP_BYTES)
                .filter(counter -> counter.label().equals(fabric.name()))
                .findFirst()
                .orElse(ShuffleCounter.VERBS_BYTES);
    }

    /**
     * Fabric that is not used for a while.
     *
     * @param untilNanos by {@link System#nanoTime}
     * @param reason why
     * @param isFault whether it failed, rather than having no connection yet
     */
    private record GivenUp(long untilNanos, String reason, boolean isFault) {
        boolean isOver(long nowNanos) {
            return nowNanos - untilNanos >= 0;
        }
    }

    /** State of the path to one executor. <b>Threading:</b> its own lock. */
    private final class Route {
        private final String executorId;
        private @Nullable PeerPath path;
        /** The same, for who does not wait while it is looked for. */
        private volatile @Nullable PeerPath known;

        /** Whether no fabric reached the peer when a path was last looked for. */
        private volatile boolean unreachable;

        /** Why fabrics that come before that of the path do not reach the peer. */
        private volatile String passedOver = "";

        private boolean retired;
        private String reason = "the driver does not know that executor";
        /** Fabrics after that of the path which the peer offers, too. */
        private List<Fabric> alternatives = List.of();
        /** Next pause: of a fabric without a connection, or of the search for a path. */
        private Duration nextPause = quarantine;
        /** Since when {@link #path} is used. */
        private long pathSince;

        /** Fabrics that failed and are not used for a while, by name. */
        private final Map<String, GivenUp> givenUp = new ConcurrentHashMap<>();
        /**
         * Until when no path is looked for, since the driver does not know the peer, or the fabrics that were not given
         * up do not reach it.
         */
        private volatile long noneUntil = nanoTime.getAsLong();
        /** Number of announcements of the member since the route exists. */
        private final AtomicInteger announced = new AtomicInteger();

        Route(String executorId) {
            this.executorId = executorId;
        }

        @Nullable
        PeerPath path() {
            synchronized (this) {
                if (retired || !mayChange()) {
                    return path;
                }
            }
            int before = announced.get();
            // Without the lock: it may take long, and a member that leaves must not wait for it.
            Member member = members.lookup(executorId).orElse(null);
            boolean isUnknown =
                    announced.get() == before && !Thread.currentThread().isInterrupted();
            return path(member, isUnknown);
        }

        /**
         * Connects to a member that was found, unless that has happened meanwhile.
         *
         * @param isUnknown whether the driver does not know it if it was not found
         */
        private synchronized @Nullable PeerPath path(@Nullable Member member, boolean isUnknown) {
            // The lookup itself may have found that this executor was replaced, which retires this route.
            if (retired || closed || !mayChange()) {
                return path;
            }
            if (member == null) {
                if (isUnknown) {
                    noneUntil = nanoTime.getAsLong() + MIN_PAUSE_WITHOUT_PATH.toNanos();
                }
                return path;
            }
            close();
            path = connect(member);
            known = path;
            unreachable = path == null;
            if (path == null) {
                noneUntil = firstToComeBack();
            } else {
                pathSince = nanoTime.getAsLong();
            }
            return path;
        }

        private boolean mayChange() {
            PeerPath current = path;
            return current == null ? nanoTime.getAsLong() - noneUntil >= 0 : mayImprove(current);
        }

        /** Returns whether {@link #path} would look for a path; waits for nothing. */
        boolean isToBeFound() {
            PeerPath found = known;
            return found == null ? nanoTime.getAsLong() - noneUntil >= 0 : mayImprove(found);
        }

        /** Ends the pause without a path, after the member has announced itself. */
        void lookAgain() {
            announced.incrementAndGet();
            noneUntil = nanoTime.getAsLong();
        }

        /** Returns whether the path is the same after a change, as for a member whose pool another executor serves. */
        boolean remains(Member before, @Nullable Member after) {
            PeerPath found = known;
            return found != null
                    && after != null
                    && before.incarnation().equals(after.incarnation())
                    && Arrays.equals(before.address(found.fabric()), after.address(found.fabric()));
        }

        /** Returns the time at which the first fabric in quarantine may be used again, or others may reach the peer. */
        private long firstToComeBack() {
            long now = nanoTime.getAsLong();
            long pause = givenUp.values().stream()
                    .mapToLong(each -> each.untilNanos() - now)
                    .min()
                    .orElseGet(() -> Math.max(
                            MIN_PAUSE_WITHOUT_PATH.toNanos(), takePause().toNanos()));
            return now + pause;
        }

        /** The same for a path that is given up; after one that served for long, pauses are short again. */
        private Duration takePauseOfPath() {
            if (nanoTime.getAsLong() - pathSince >= MAX_PAUSE.toNanos()) {
                nextPause = quarantine;
            }
            return takePause();
        }

        /** Returns the pause that is due, and makes the next one twice as long. */
        private Duration takePause() {
            Duration pause = nextPause;
            Duration doubled = pause.multipliedBy(2);
            if (doubled.compareTo(MAX_PAUSE) < 0) {
                nextPause = doubled;
            } else if (pause.compareTo(MAX_PAUSE) < 0) {
                nextPause = MAX_PAUSE;
            }
            return pause;
        }

        /** Returns the path that is known, unless a better one may have come back. */
        @Nullable
        PeerPath best() {
            PeerPath found = known;
            return found == null || mayImprove(found) ? null : found;
        }

        /** Returns whether a fabric that comes before a path's had been given up, and may be used again. */
        private boolean mayImprove(PeerPath current) {
            for (Fabric fabric : fabrics) {
                if (fabric.name().equals(current.fabric())) {
                    break;
                }
                if (givenUp.containsKey(fabric.name()) && !isGivenUp(fabric)) {
                    return true;
                }
            }
            return false;
        }

        private boolean isGivenUp(Fabric fabric) {
            GivenUp found = givenUp.get(fabric.name());
            return found != null && !found.isOver(nanoTime.getAsLong());
        }

        /** Returns the reason why the last lookup found no path. */
        synchronized String reason() {
            return reason;
        }

        /**
         * Returns for how long this path is given up; null if it had been before. A peer that is still a member when it
         * is gone may be behind a firewall that refuses connections: the pauses grow.
         */
        synchronized @Nullable Duration quarantine(PeerPath failed, ReadFailedException failure) {
            if (!failed.equals(path)) {
                return null;
            }
            Duration pause = failure.reason() == Reason.PEER_GONE ? takePauseOfPath() : quarantine;
            giveUp(failed, pause, "given up after it failed: " + failure.getMessage(), true);
            return pause;
        }

        /** Switches a peer that has no connection to the next fabric; returns false if there is none. */
        synchronized boolean giveWay(PeerPath unconnected, ReadFailedException failure) {
            boolean hasNext = !alternatives.stream().allMatch(this::isGivenUp);
            if (!unconnected.equals(path) || !hasNext || nextPause.isZero()) {
                return false;
            }
            giveUp(unconnected, takePauseOfPath(), failure.getMessage(), false);
            return true;
        }

        private void giveUp(PeerPath given, Duration duration, @Nullable String why, boolean isFault) {
            reason = given.fabric() + ": " + why;
            close();
            long now = nanoTime.getAsLong();
            givenUp.put(given.fabric(), new GivenUp(now + duration.toNanos(), reason, isFault));
            noneUntil = now;
        }

        /** Not synchronized, as the next: who looks at all routes does not wait for one that is looked for. */
        boolean isQuarantined() {
            long now = nanoTime.getAsLong();
            return givenUp.values().stream().anyMatch(each -> each.isFault() && !each.isOver(now));
        }

        /** Returns by what this executor is reached, null while that is not known. */
        @Nullable
        String fabric() {
            PeerPath found = known;
            if (found != null) {
                return found.peer().isReachable() ? found.counter().label() : NO_FABRIC;
            }
            return unreachable || isQuarantined() ? NO_FABRIC : null;
        }

        synchronized void forget(int shuffleId) {
            if (path != null && path.directory().forget(shuffleId)) {
                path.peer().releaseRegions();
            }
        }

        synchronized void releaseAbsentRegions() {
            if (path != null) {
                path.peer().releaseAbsentRegions();
            }
        }

        synchronized Set<Integer> shuffleIds() {
            return path == null ? Set.of() : path.directory().shuffleIds();
        }

        /** Not synchronized, as {@link #isQuarantined}. */
        long openRegions() {
            PeerPath found = known;
            return found == null ? 0 : found.peer().openRegions();
        }

        /** Closes for good: a caller that still holds this route gets no new path, which would never be closed. */
        synchronized void retire() {
            retired = true;
            close();
        }

        synchronized void close() {
            if (path != null) {
                path.directory().forget();
                path.peer().close();
                path = null;
                known = null;
            }
        }

        private @Nullable PeerPath connect(Member member) {
            byte[] directory = member.address(DIRECTORY_ADDRESS);
            List<String> reasons = new ArrayList<>();
            for (Fabric fabric : fabrics) {
                if (isGivenUp(fabric)) {
                    reasons.add(
                            Objects.requireNonNull(givenUp.get(fabric.name())).reason());
                    continue;
                }
                givenUp.remove(fabric.name());
                byte[] address = member.address(fabric.name());
                if (address == null || directory == null) {
                    reasons.add("executor " + executorId + " does not offer " + fabric.name());
                    explain(fabric, reasons.get(reasons.size() - 1));
                    continue;
                }
                try {
                    DirectoryLocation location = DirectoryLocation.decode(directory);
                    Peer peer = fabric.connect(executorId, address);
                    alternatives = fabrics.stream()
                            .dropWhile(each -> !each.name().equals(fabric.name()))
                            .skip(1)
                            .filter(next -> member.address(next.name()) != null)
                            .toList();
                    RemoteDirectory remote = new RemoteDirectory(peer, location, reads, indexes, retryTimeout);
                    passedOver = String.join("; ", reasons);
                    return new PeerPath(executorId, peer, remote, fabric.name(), counterOf(fabric));
                } catch (PeerUnreachableException | DirectoryFormatException e) {
                    reasons.add(fabric.name() + ": " + e.getMessage());
                    explain(fabric, String.valueOf(e.getMessage()));
                }
            }
            reason = String.join("; ", reasons);
            return null;
        }

        /** Logs the reason at INFO for the first peer that a fabric does not reach. */
        private void explain(Fabric fabric, String reason) {
            if (explained.add(fabric.name())) {
                LOG.info(
                        "Fabric {} does not reach every peer: {} (spark.shuffle.rdma.fabric.mode)",
                        fabric.name(),
                        reason);
            } else {
                LOG.debug("Fabric {} does not reach executor {}: {}", fabric.name(), executorId, reason);
            }
        }
    }
}
