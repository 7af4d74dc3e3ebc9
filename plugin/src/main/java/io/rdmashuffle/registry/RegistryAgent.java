// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor's side: announces the executor, keeps a view of the others, and asks the driver about those it misses.
 *
 * <p><b>Threading:</b> safe. It has no thread of its own: questions are asked on the thread that looks up, without a
 * lock held, and each takes at most {@code spark.shuffle.rdma.registry.timeout}; while the driver does not answer, most
 * lookups do not even try. What is to be passed on is sent by the thread that brought it. Listeners hear of changes one
 * at a time and in order.
 *
 * <p><b>Ownership:</b> the channels stay the caller's.
 */
public final class RegistryAgent implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryAgent.class);
    private final String ownExecutorId;
    private final DriverLink driver;
    private final MembershipSync sync;
    private final SingleFlight flights = new SingleFlight();
    private final MembershipEvents events = new MembershipEvents();

    /** Also the lock of all that follows. */
    private final MembershipView view;

    private final RecentAnswers answers;
    /** Members that could not be reached: the next lookup asks the driver although the view has them. */
    private final Set<String> doubted = new HashSet<>();

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
        this.sync = new MembershipSync(view, events, this.driver, peers, ownExecutorId, directMembers);
        this.answers = new RecentAnswers(nanoClock);
    }

    /** Adds a listener for changes from now on. */
    public void addListener(MembershipListener listener) {
        events.addListener(listener);
    }

    /**
     * Tells the driver where this executor can be reached, again if its addresses changed. If the driver does not
     * answer, later lookups of unknown peers, and {@link #ensureAnnounced}, try again.
     *
     * @return whether the driver has taken it
     */
    public boolean announce(Member member) {
        if (!member.executorId().equals(ownExecutorId)) {
            throw new IllegalArgumentException("executor " + ownExecutorId + " cannot announce " + member);
        }
        sync.announce(member);
        return sync.ensureAnnounced();
    }

    /** Announces what {@link #announce} was given unless the driver has it; cheap when it has, or is not answering. */
    public boolean ensureAnnounced() {
        return sync.ensureAnnounced();
    }

    /**
     * Asks for what is known to be missing, if anything is: the driver in a small cluster, else up to three peers, and
     * the driver if none can be reached or all have been behind three times.
     *
     * @return whether nothing is known to be missing; else call it again a little later
     */
    public boolean repair() {
        if (sync.lacks()) {
            sync.catchUp();
        }
        return !sync.lacks();
    }

    /** Takes in a change that the driver pushed; any order, any number of times. */
    public void onMessage(MembershipUpdate update) {
        sync.onMessage(update);
    }

    /**
     * Takes in a change that the driver or a peer pushed, and passes it on to members of its range. While this executor
     * needs a snapshot it does not know them: it passes the change on after {@link #repair}.
     */
    public void onRelay(Relay relay) {
        sync.onRelay(relay);
    }

    /** Returns this executor's answer to a peer that asks for a snapshot of at least a version. */
    public RegistryMessage snapshotFor(long atLeast) {
        return sync.snapshotFor(atLeast);
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
    public Optional<Member> lookup(String executorId) {
        synchronized (view) {
            if (sync.isClosed() || isAnswered(executorId)) {
                return current(executorId);
            }
        }
        boolean settled = false;
        if (sync.lacks()) {
            sync.catchUp();
            settled = settleBySnapshot(executorId);
        }
        if (!settled) {
            flights.run(executorId, () -> lookUpNow(executorId), driver.timeout());
        }
        events.deliver();
        synchronized (view) {
            return current(executorId);
        }
    }

    /** Makes the next lookup of a member ask the driver: call it when the member's addresses do not work. */
    public void recheck(String executorId) {
        synchronized (view) {
            doubted.removeIf(doubtful -> view.member(doubtful) == null);
            if (view.member(executorId) != null) {
                doubted.add(executorId);
            }
        }
    }

    /**
     * Asks the driver which of these shuffles have been removed; none if it does not answer. Its answer also tells
     * whether a change of the membership was missed; if so, this calls {@link #repair} once.
     */
    public Set<Integer> removedShuffles(Set<Integer> held) {
        synchronized (view) {
            if (sync.isClosed() || (held.isEmpty() && !sync.isAnnounced())) {
                return Set.of();
            }
        }
        // What does not fit into a message is asked about once older ones are gone.
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

    /** Asks the driver whether a shuffle is compressed for the network; empty if it does not answer. */
    public Optional<Boolean> isCompressed(int shuffleId) {
        return driver.ask(new CompressionRequest(shuffleId)) instanceof CompressionReply reply
                ? Optional.of(reply.compressed())
                : Optional.empty();
    }

    /** Gives the driver a report; returns whether it has taken it in time. */
    public boolean report(Report report, Duration timeout) {
        return driver.ask(report, timeout) instanceof Taken;
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
        sync.close();
    }

    /** Only with the lock held. */
    private Optional<Member> current(String executorId) {
        if (sync.isClosed()) {
            return Optional.empty();
        }
        return executorId.equals(ownExecutorId) ? sync.self() : Optional.ofNullable(view.member(executorId));
    }

    /** Only with the lock held. */
    private boolean isAnswered(String executorId) {
        return executorId.equals(ownExecutorId)
                || answers.contains(executorId)
                || (view.member(executorId) != null && !doubted.contains(executorId));
    }

    /**
     * The driver's snapshot says of every executor whether it is a member: no need to ask about this one. Nor is there
     * where the driver does not answer.
     */
    private boolean settleBySnapshot(String executorId) {
        boolean lacks = sync.lacks();
        synchronized (view) {
            if (!sync.isAnnounced()) {
                return sync.mayAsk();
            }
            if (view.member(executorId) == null && (lacks || !sync.isFromDriver())) {
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
            if (sync.isClosed() || isAnswered(executorId)) {
                return;
            }
        }
        RegistryMessage answer = driver.ask(new Lookup(executorId));
        synchronized (view) {
            if (answer instanceof LookupReply reply && reply.executorId().equals(executorId) && !sync.isClosed()) {
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
}
