// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.LeaveFiles;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor's side: announces the executor, keeps a view of the others complete, passes on updates, and asks the
 * driver about executors that the view lacks.
 *
 * <p><b>Threading:</b> safe. It has no thread of its own: the looking-up thread sends queries, without a lock, and each
 * takes at most {@code spark.shuffle.rdma.registry.timeout}; while the driver does not answer, most lookups do not
 * query. The receiving thread forwards relays. Listeners receive changes one at a time and in order.
 *
 * <p><b>Ownership:</b> the channels stay the caller's.
 */
public final class RegistryAgent implements MemberLookup, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryAgent.class);
    private static final String CATCH_UP = "catch up";
    private final String ownExecutorId;
    private final DriverLink driver;
    private final PeerChannel peers;
    private final int directMembers;
    private final SingleFlight lookups = new SingleFlight();
    private final SingleFlight catchUps = new SingleFlight();
    private final MembershipEvents events = new MembershipEvents();

    /** Also the lock of all that follows. */
    private final MembershipView view;

    private final RecentAnswers answers;
    private final RelayDuties duties;
    private final SnapshotSources sources = new SnapshotSources();
    /** Members that could not be reached: the next lookup asks the driver although the view has them. */
    private final Set<String> doubted = new HashSet<>();
    /** Whether the latest snapshot came from the driver, which knows of members that no update has told of yet. */
    private boolean snapshotFromDriver;

    private @Nullable Member self;
    private boolean announced;
    private boolean refused;
    private boolean closed;

    /**
     * Result of a search for a snapshot.
     *
     * @param snapshot null if there was none
     * @param fromDriver whether the driver was asked
     */
    private record Found(@Nullable Snapshot snapshot, boolean fromDriver) {}

    /**
     * Creates an agent without members.
     *
     * @param timeout of one question to the driver, and of those to peers before it
     */
    public RegistryAgent(String ownExecutorId, DriverChannel driver, PeerChannel peers, Duration timeout) {
        this(ownExecutorId, driver, peers, timeout, RegistryServer.DIRECT_MEMBERS, System::nanoTime);
    }

    /**
     * For tests and simulations.
     *
     * @param directMembers in place of {@link RegistryServer#DIRECT_MEMBERS}
     */
    public RegistryAgent(
            String ownExecutorId,
            DriverChannel driver,
            PeerChannel peers,
            Duration timeout,
            int directMembers,
            LongSupplier nanoClock) {
        this.ownExecutorId = Member.checkName("executor id", ownExecutorId);
        this.driver = new DriverLink(driver, timeout, nanoClock);
        this.view = new MembershipView(ownExecutorId, events);
        this.peers = peers;
        this.duties = new RelayDuties(ownExecutorId, peers);
        this.directMembers = directMembers;
        this.answers = new RecentAnswers(nanoClock);
    }

    /** Adds a listener for changes from now on. */
    public void addListener(MembershipListener listener) {
        events.addListener(listener);
    }

    /**
     * Announces to the driver where this executor can be reached, again if its addresses changed. If the driver does
     * not answer, later lookups of unknown peers, and {@link #ensureAnnounced}, try again.
     *
     * @return whether the driver has taken it
     */
    public boolean announce(Member member) {
        if (!member.executorId().equals(ownExecutorId)) {
            throw new IllegalArgumentException("executor " + ownExecutorId + " cannot announce " + member);
        }
        synchronized (view) {
            self = member;
            announced = false;
            refused = false;
        }
        return ensureAnnounced();
    }

    /** Announces what {@link #announce} was given unless the driver has it; cheap when it has, or is not answering. */
    public boolean ensureAnnounced() {
        boolean wanted;
        synchronized (view) {
            wanted = mayAsk() && !announced;
        }
        if (wanted) {
            catchUp();
        }
        synchronized (view) {
            return announced;
        }
    }

    /**
     * Fetches missing changes, if there are any: from the driver in a small cluster, else from up to three peers, and
     * from the driver if none can be reached or all were behind three times.
     *
     * @return whether nothing is missing; otherwise call it again later
     */
    public boolean repair() {
        if (lacks()) {
            catchUp();
        }
        return !lacks();
    }

    /** Processes a change that the driver pushed; any order, any number of times. */
    public void onMessage(MembershipUpdate update) {
        synchronized (view) {
            if (closed) {
                return;
            }
            view.apply(update);
        }
        events.deliver();
    }

    /**
     * Processes a change that the driver or a peer pushed, and passes it on to members of its range. While this
     * executor needs a snapshot it does not know them: it passes the change on after {@link #repair}.
     */
    public void onRelay(Relay relay) {
        boolean knowsMembers;
        synchronized (view) {
            if (closed) {
                return;
            }
            view.apply(relay.update().content());
            knowsMembers = !view.needsSnapshot();
            if (!knowsMembers) {
                duties.hold(relay);
            }
        }
        if (knowsMembers) {
            passOn(relay);
        }
        events.deliver();
    }

    /** Returns this executor's answer to a peer that asks for a snapshot of at least a version. */
    public RegistryMessage snapshotFor(long atLeast) {
        synchronized (view) {
            Member own = self;
            if (closed || own == null || !announced || view.needsSnapshot() || view.completeVersion() < atLeast) {
                return new SnapshotBehind(view.completeVersion());
            }
            List<Member> all = new ArrayList<>(view.members());
            all.add(own);
            return new Snapshot(view.completeVersion(), all);
        }
    }

    /** Returns the version up to which this executor has missed nothing. */
    public long completeVersion() {
        synchronized (view) {
            return view.needsSnapshot() ? 0 : view.completeVersion();
        }
    }

    /**
     * Returns the member of that executor id: from the view, or else by asking the driver once. Empty if there is none
     * or the driver does not answer in time; an empty answer holds for a second.
     */
    @Override
    public Optional<Member> lookup(String executorId) {
        synchronized (view) {
            if (closed || isAnswered(executorId)) {
                return current(executorId);
            }
        }
        boolean settled = false;
        if (lacks()) {
            catchUp();
            settled = settleBySnapshot(executorId);
        }
        if (!settled) {
            lookups.run(executorId, () -> lookUpNow(executorId), driver.timeout());
        }
        events.deliver();
        synchronized (view) {
            return current(executorId);
        }
    }

    /** Returns a member as this executor knows it, without a query. */
    public Optional<Member> known(String executorId) {
        synchronized (view) {
            return current(executorId);
        }
    }

    @Override
    public int count() {
        return view.peerCount() + 1;
    }

    /** Makes the next lookup of a member ask the driver: call it when the member's addresses do not work. */
    @Override
    public void recheck(String executorId) {
        synchronized (view) {
            doubted.removeIf(doubtful -> view.member(doubtful) == null);
            if (view.member(executorId) != null) {
                doubted.add(executorId);
            }
        }
    }

    /**
     * Queries the driver which of these shuffles have been removed; none if it does not answer. Its answer also tells
     * whether a change of the membership was missed; if so, this calls {@link #repair} once.
     */
    public Set<Integer> removedShuffles(Set<Integer> held) {
        synchronized (view) {
            if (closed || (held.isEmpty() && !announced)) {
                return Set.of();
            }
        }
        // Shuffles beyond the limit of a message are queried after older ones are removed.
        Set<Integer> asked =
                held.stream().sorted().limit(MessageSerializers.MAX_SHUFFLES).collect(Collectors.toSet());
        RegistryMessage answer = driver.ask(new ShufflesHeld(asked));
        if (answer instanceof ShufflesGone gone) {
            synchronized (view) {
                view.require(gone.version());
            }
            repair();
            asked.retainAll(gone.shuffleIds());
            return asked;
        }
        if (answer != null) {
            LOG.warn("Unexpected answer about shuffles: {}", answer.getClass().getSimpleName());
        }
        return Set.of();
    }

    /** Queries the driver whether a shuffle is compressed for the network; empty if it does not answer. */
    public Optional<Boolean> isCompressed(int shuffleId) {
        return driver.ask(new CompressionRequest(shuffleId)) instanceof CompressionReply reply
                ? Optional.of(reply.compressed())
                : Optional.empty();
    }

    /**
     * Sends the driver a report, and returns its answer.
     *
     * @param matters whether the answer is needed, so that the driver is asked although it has not answered lately
     */
    public Receipt report(Report report, Duration timeout, boolean matters) {
        RegistryMessage answer = matters ? driver.askNow(report, timeout) : driver.ask(report, timeout);
        if (answer instanceof LeaveFiles) {
            return Receipt.LEAVE_FILES;
        }
        if (answer instanceof Snapshot snapshot) {
            synchronized (view) {
                takeSnapshot(snapshot, true);
            }
            events.deliver();
            return Receipt.TAKEN;
        }
        return answer instanceof Taken ? Receipt.TAKEN : Receipt.NONE;
    }

    /** Returns the peers in the view, this executor not among them. */
    public List<Member> peers() {
        synchronized (view) {
            return view.members();
        }
    }

    /** Returns whether an update from the driver is known to be missing. */
    public boolean isStale() {
        synchronized (view) {
            return view.isStale();
        }
    }

    /** Ends all lookups with an empty answer and ignores further updates; idempotent. Listeners hear nothing more. */
    @Override
    public void close() {
        synchronized (view) {
            closed = true;
        }
    }

    /** Only with the lock held. */
    private Optional<Member> current(String executorId) {
        if (closed) {
            return Optional.empty();
        }
        return executorId.equals(ownExecutorId)
                ? Optional.ofNullable(self)
                : Optional.ofNullable(view.member(executorId));
    }

    /** Only with the lock held. */
    private boolean isAnswered(String executorId) {
        return executorId.equals(ownExecutorId)
                || answers.contains(executorId)
                || (view.member(executorId) != null && !doubted.contains(executorId));
    }

    /**
     * No query is needed after the driver's snapshot, which is complete, or while the driver does not answer.
     */
    private boolean settleBySnapshot(String executorId) {
        boolean lacks = lacks();
        synchronized (view) {
            if (!announced) {
                return mayAsk();
            }
            if (view.member(executorId) == null && (lacks || !snapshotFromDriver)) {
                return false;
            }
            if (!lacks) {
                settle(executorId);
            }
            return true;
        }
    }

    /** Only with the lock held. */
    private void settle(String executorId) {
        answers.add(executorId);
        doubted.remove(executorId);
    }

    private void lookUpNow(String executorId) {
        synchronized (view) {
            if (closed || isAnswered(executorId)) {
                return;
            }
        }
        RegistryMessage answer = driver.ask(new Lookup(executorId));
        synchronized (view) {
            if (answer instanceof LookupReply reply && reply.executorId().equals(executorId) && !closed) {
                view.apply(reply);
                settle(executorId);
            } else if (answer != null) {
                LOG.warn(
                        "Unexpected answer to a lookup of executor {}: {}",
                        executorId,
                        answer.getClass().getSimpleName());
            }
        }
    }

    /** Returns whether the driver may accept this executor, or has; the caller holds the lock. */
    private boolean mayAsk() {
        return !closed && self != null && !refused;
    }

    /** Returns whether the driver has not taken this executor or the view misses something, and can still fix that. */
    private boolean lacks() {
        synchronized (view) {
            return mayAsk() && (!announced || view.isStale());
        }
    }

    /** Announces this executor if need be and asks for a snapshot if one is needed then. */
    private void catchUp() {
        catchUps.run(
                CATCH_UP,
                () -> {
                    announceNow();
                    pullNow();
                },
                driver.timeout());
        events.deliver();
    }

    private void announceNow() {
        Member member;
        synchronized (view) {
            member = self;
            if (member == null || !mayAsk() || announced) {
                return;
            }
        }
        RegistryMessage answer = driver.ask(new Announce(member));
        synchronized (view) {
            // Another announcement may have begun meanwhile; its own answer counts for it.
            boolean latest = member.equals(self);
            if (closed) {
                return;
            }
            if (answer instanceof Snapshot snapshot) {
                takeSnapshot(snapshot, true);
                announced |= latest;
            } else if (answer instanceof Welcome welcome) {
                sources.name(welcome.sources());
                view.require(welcome.version());
                announced |= latest;
            } else if (answer instanceof AnnounceRefused refusal && latest) {
                refused = true;
                LOG.warn(
                        "The driver refused this executor: {}; until it ends, Spark's block transfer serves its blocks",
                        refusal.reason());
            } else if (answer != null) {
                LOG.warn(
                        "Unexpected answer to an announcement: {}",
                        answer.getClass().getSimpleName());
            }
        }
    }

    /** Asks peers, then the driver, for what the view lacks. */
    private void pullNow() {
        long version;
        List<Member> asked;
        synchronized (view) {
            if (!mayAsk() || !announced || !view.isStale()) {
                return;
            }
            version = view.repairVersion();
            asked = sources.next(view.table(), directMembers);
        }
        Found found = search(asked, version);
        Snapshot snapshot = found.snapshot();
        if (snapshot != null) {
            take(snapshot, found.fromDriver());
        } else if (!found.fromDriver()) {
            synchronized (view) {
                sources.behind();
            }
        }
    }

    private void take(Snapshot snapshot, boolean fromDriver) {
        List<Relay> relays;
        synchronized (view) {
            if (closed) {
                return;
            }
            takeSnapshot(snapshot, fromDriver);
            relays = view.needsSnapshot() ? List.of() : duties.release();
        }
        relays.forEach(this::passOn);
    }

    /** Only with the lock held. */
    private void takeSnapshot(Snapshot snapshot, boolean fromDriver) {
        view.apply(snapshot);
        snapshotFromDriver = fromDriver;
        sources.done();
    }

    private void passOn(Relay relay) {
        List<Member> members;
        synchronized (view) {
            members = view.members(relay.range());
        }
        duties.passOn(relay, members);
    }

    /**
     * Returns a snapshot of at least a version: from a peer, or from the driver if no peer answers. If peers answer
     * but are behind, returns none and spares the driver the question. Waits on the calling thread, no longer than one
     * question to the driver may take for all peers together, and as long again for the driver.
     */
    private Found search(List<Member> sources, long version) {
        boolean behind = false;
        for (Member source : sources) {
            RegistryMessage answer = pull(source, version);
            if (answer instanceof Snapshot snapshot && snapshot.version() >= version) {
                return new Found(snapshot, false);
            }
            behind |= answer instanceof SnapshotBehind;
        }
        if (behind) {
            return new Found(null, false);
        }
        return new Found(driver.ask(new SnapshotRequest()) instanceof Snapshot snapshot ? snapshot : null, true);
    }

    private @Nullable RegistryMessage pull(Member source, long version) {
        try {
            return peers.pull(source, version, driver.timeout().dividedBy(SnapshotSources.PEERS));
        } catch (RegistryUnavailableException | RuntimeException e) {
            LOG.debug("{} did not answer with version {} of the membership", source, version, e);
            return null;
        }
    }
}
