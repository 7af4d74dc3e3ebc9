// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.time.Duration;
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
 * An executor's side: announces the executor, keeps a view of the others, and asks the driver about those it misses.
 *
 * <p><b>Threading:</b> safe. It has no thread of its own: questions are asked on the thread that looks up, without a
 * lock held, and take at most {@code spark.shuffle.rdma.registry.timeout}; while the driver does not answer, most
 * lookups do not even try. Listeners hear of changes one at a time and in order.
 *
 * <p><b>Ownership:</b> the channel stays the caller's.
 */
public final class RegistryAgent implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryAgent.class);
    /** No executor has an empty id, so this flight meets no lookup. */
    private static final String ANNOUNCE_FLIGHT = "";

    private final String ownExecutorId;
    private final DriverLink driver;
    private final SingleFlight flights = new SingleFlight();
    private final MembershipEvents events = new MembershipEvents();

    private final Object lock = new Object();
    private final MembershipView view;
    private final RecentAnswers answers;
    /** Members that could not be reached: the next lookup asks the driver although the view has them. */
    private final Set<String> doubted = new HashSet<>();

    private @Nullable Member self;
    private boolean announced;
    private boolean refused;
    private volatile boolean closed;

    /**
     * Creates an agent without members.
     *
     * @param timeout of one question to the driver
     */
    public RegistryAgent(String ownExecutorId, DriverChannel driver, Duration timeout) {
        this(ownExecutorId, driver, timeout, System::nanoTime);
    }

    RegistryAgent(String ownExecutorId, DriverChannel driver, Duration timeout, LongSupplier nanoClock) {
        this.ownExecutorId = Member.checkName("executor id", ownExecutorId);
        this.driver = new DriverLink(driver, timeout, nanoClock);
        this.view = new MembershipView(ownExecutorId, events);
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
        synchronized (lock) {
            self = member;
            announced = false;
            refused = false;
        }
        return ensureAnnounced();
    }

    /** Announces what {@link #announce} was given unless the driver has it; cheap when it has, or is not answering. */
    public boolean ensureAnnounced() {
        if (wantsSnapshot()) {
            flights.run(ANNOUNCE_FLIGHT, this::announceNow, driver.timeout());
            events.deliver();
        }
        synchronized (lock) {
            return announced;
        }
    }

    /** Takes in a change that the driver pushed; any order, any number of times. */
    public void onMessage(MembershipUpdate update) {
        synchronized (lock) {
            if (closed) {
                return;
            }
            view.apply(update);
        }
        events.deliver();
    }

    /**
     * Returns the member of that executor id: from the view, or else by asking the driver once. Empty if there is none
     * or the driver does not answer in time; an empty answer holds for a second.
     */
    public Optional<Member> lookup(String executorId) {
        synchronized (lock) {
            if (closed || isAnswered(executorId)) {
                return current(executorId);
            }
        }
        if (wantsSnapshot()) {
            flights.run(ANNOUNCE_FLIGHT, this::announceNow, driver.timeout());
            settleBySnapshot(executorId);
        } else {
            flights.run(executorId, () -> lookUpNow(executorId), driver.timeout());
        }
        events.deliver();
        synchronized (lock) {
            return current(executorId);
        }
    }

    /** Makes the next lookup of a member ask the driver: call it when the member's addresses do not work. */
    public void recheck(String executorId) {
        synchronized (lock) {
            doubted.removeIf(doubtful -> view.member(doubtful) == null);
            if (view.member(executorId) != null) {
                doubted.add(executorId);
            }
        }
    }

    /** Asks the driver which of these shuffles have been removed; none if it does not answer. */
    public Set<Integer> removedShuffles(Set<Integer> held) {
        if (closed || held.isEmpty()) {
            return Set.of();
        }
        // What does not fit into a message is asked about once older ones are gone.
        Set<Integer> asked =
                held.stream().sorted().limit(MessageSerializers.MAX_SHUFFLES).collect(Collectors.toSet());
        RegistryMessage answer = driver.ask(new ShufflesHeld(asked));
        if (answer instanceof ShufflesGone gone) {
            asked.retainAll(gone.shuffleIds());
            return asked;
        }
        if (answer != null) {
            LOG.warn("Unexpected answer about shuffles: {}", answer.getClass().getSimpleName());
        }
        return Set.of();
    }

    /** Returns the peers in the view, this executor not among them. */
    public List<Member> peers() {
        synchronized (lock) {
            return view.members();
        }
    }

    /** Returns whether an update from the driver is known to be missing. */
    public boolean isStale() {
        synchronized (lock) {
            return view.isStale();
        }
    }

    /** Ends all lookups with an empty answer and ignores further updates; idempotent. Listeners hear nothing more. */
    @Override
    public void close() {
        closed = true;
    }

    /** Only with the lock held. */
    private Optional<Member> current(String executorId) {
        if (closed) {
            return Optional.empty();
        }
        return Optional.ofNullable(executorId.equals(ownExecutorId) ? self : view.member(executorId));
    }

    /** Only with the lock held. */
    private boolean isAnswered(String executorId) {
        return executorId.equals(ownExecutorId)
                || answers.contains(executorId)
                || (view.member(executorId) != null && !doubted.contains(executorId));
    }

    private boolean wantsSnapshot() {
        synchronized (lock) {
            return !closed && self != null && !refused && (!announced || view.isStale());
        }
    }

    private void announceNow() {
        Member member;
        synchronized (lock) {
            member = self;
        }
        if (member == null || !wantsSnapshot()) {
            return;
        }
        RegistryMessage answer = driver.ask(new Announce(member));
        synchronized (lock) {
            // Another announcement may have begun meanwhile; its own answer counts for it.
            boolean latest = member.equals(self);
            if (closed) {
                return;
            }
            if (answer instanceof Snapshot snapshot) {
                view.apply(snapshot);
                announced |= latest;
            } else if (answer instanceof AnnounceRefused refusal && latest) {
                refused = true;
                LOG.warn("The driver refused this executor: {}; its blocks are served by Netty", refusal.reason());
            } else if (answer != null) {
                LOG.warn(
                        "Unexpected answer to an announcement: {}",
                        answer.getClass().getSimpleName());
            }
        }
    }

    /** A snapshot says of every executor whether it is a member: no need to ask about this one. */
    private void settleBySnapshot(String executorId) {
        if (wantsSnapshot()) {
            return;
        }
        synchronized (lock) {
            if (announced) {
                settle(executorId);
            }
        }
    }

    /** Only with the lock held. */
    private void settle(String executorId) {
        answers.add(executorId);
        doubted.remove(executorId);
    }

    private void lookUpNow(String executorId) {
        synchronized (lock) {
            if (closed || isAnswered(executorId)) {
                return;
            }
        }
        RegistryMessage answer = driver.ask(new Lookup(executorId));
        synchronized (lock) {
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
}
