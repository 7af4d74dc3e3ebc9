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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's side: knows every member, answers announcements and lookups at once, and pushes each change to all
 * others.
 *
 * <p>It receives one announcement per executor, one lookup per miss and now and then the shuffles that an executor
 * holds, never a message per map output.
 *
 * <p><b>Threading:</b> safe. Pushes are sent without a lock held, so two of them may overtake each other; executors put
 * them in order by version.
 *
 * <p><b>Ownership:</b> keeps the channel of each member until that member is removed or announces itself anew.
 */
public final class RegistryServer {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryServer.class);
    /** Far more than can still have an announcement in flight. */
    private static final int MAX_DEPARTED = 4096;

    private final Object lock = new Object();
    private final Map<String, Registration> registrations = new LinkedHashMap<>();
    private final DepartedMembers departed = new DepartedMembers(MAX_DEPARTED);
    private final AtomicLong messagesReceived = new AtomicLong();
    private final IntPredicate shuffleExists;
    private long version;

    /** Creates a registry without members, to which every shuffle exists. */
    public RegistryServer() {
        this(shuffleId -> true);
    }

    /**
     * Creates a registry without members.
     *
     * @param shuffleExists whether a shuffle has not been removed yet; called on any thread, must not block
     */
    public RegistryServer(IntPredicate shuffleExists) {
        this.shuffleExists = shuffleExists;
    }

    private static final class Registration {
        final Member member;
        final MemberChannel channel;
        /** Guarded by the registration itself: pushes run outside the driver's lock. */
        private boolean failureLogged;

        Registration(Member member, MemberChannel channel) {
            this.member = member;
            this.channel = channel;
        }

        void push(MembershipUpdate update) {
            try {
                channel.send(update);
            } catch (RuntimeException e) {
                if (isFirstFailure()) {
                    LOG.warn("Cannot push membership changes to {}; its lookups will ask the driver", member, e);
                }
            }
        }

        private synchronized boolean isFirstFailure() {
            boolean first = !failureLogged;
            failureLogged = true;
            return first;
        }
    }

    /**
     * Handles a request of an executor and returns the answer, null for a message that is no request to the driver.
     *
     * @param sender the way back to the executor, kept if the message is an announcement
     */
    public @Nullable RegistryMessage handle(RegistryMessage request, MemberChannel sender) {
        messagesReceived.incrementAndGet();
        if (request instanceof Announce announce) {
            return announced(announce.member(), sender);
        }
        if (request instanceof Lookup lookup) {
            return lookedUp(lookup.executorId());
        }
        if (request instanceof ShufflesHeld held) {
            return new ShufflesGone(held.shuffleIds().stream()
                    .filter(id -> !shuffleExists.test(id))
                    .collect(Collectors.toSet()));
        }
        LOG.warn("Ignoring an unexpected {}", request.getClass().getSimpleName());
        return null;
    }

    /** Forgets an executor that Spark lost and tells the others; unknown ones are remembered as gone. */
    public void memberRemoved(String executorId) {
        List<Registration> others;
        MembershipUpdate update;
        synchronized (lock) {
            Registration removed = registrations.remove(executorId);
            if (removed == null) {
                // Spark may report one loss twice; only an executor never heard of is kept out whatever it says.
                if (!departed.knows(executorId)) {
                    departed.add(executorId, null);
                }
                return;
            }
            departed.add(executorId, removed.member.incarnation());
            version++;
            update = new MembershipUpdate(version, List.of(), List.of(executorId));
            others = List.copyOf(registrations.values());
        }
        others.forEach(other -> other.push(update));
    }

    /** Returns all members, in the order of their first announcements. */
    public List<Member> members() {
        synchronized (lock) {
            return registrations.values().stream().map(each -> each.member).toList();
        }
    }

    /** Returns the number of membership changes so far. */
    public long version() {
        synchronized (lock) {
            return version;
        }
    }

    /** Returns how many messages {@link #handle} was given: O(executors), whatever the shuffles do. */
    public long messagesReceived() {
        return messagesReceived.get();
    }

    private RegistryMessage announced(Member member, MemberChannel channel) {
        String executorId = member.executorId();
        List<Registration> others = new ArrayList<>();
        MembershipUpdate update;
        Snapshot answer;
        synchronized (lock) {
            if (departed.contains(member)) {
                LOG.info("Refused an announcement of {}: it has been removed from the application", member);
                return new AnnounceRefused(member + " has been removed from the application");
            }
            Registration before = registrations.put(executorId, new Registration(member, channel));
            if (before != null && before.member.equals(member)) {
                return new Snapshot(version, members());
            }
            if (before != null && !before.member.incarnation().equals(member.incarnation())) {
                departed.add(executorId, before.member.incarnation());
            }
            version++;
            update = new MembershipUpdate(version, List.of(member), List.of());
            answer = new Snapshot(version, members());
            registrations.forEach((id, registration) -> {
                if (!id.equals(executorId)) {
                    others.add(registration);
                }
            });
        }
        others.forEach(other -> other.push(update));
        return answer;
    }

    private LookupReply lookedUp(String executorId) {
        synchronized (lock) {
            Registration registration = registrations.get(executorId);
            return new LookupReply(version, executorId, registration == null ? null : registration.member);
        }
    }
}
