// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.EncodedUpdate;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's side: knows every member, answers announcements and lookups at once, and tells all members of changes,
 * many at a time.
 *
 * <p>It receives one announcement per executor, one lookup per miss and now and then the shuffles that an executor
 * holds, never a message per map output. Up to {@link #DIRECT_MEMBERS} members it answers an announcement with all of
 * them and sends each update itself; above, it names members that have a snapshot, and hands updates to a few members
 * that pass them on ({@link RelayFanout}).
 *
 * <p><b>Threading:</b> safe. Nothing is sent to members but by {@link #flush}, without a lock held; updates may
 * overtake each other, executors put them in order by version.
 *
 * <p><b>Ownership:</b> keeps the channel of each member until that member is removed or announces itself anew. Owns no
 * thread: who created it calls {@code flush}.
 */
public final class RegistryServer {
    /** Maximum number of members to which the driver sends updates directly. */
    public static final int DIRECT_MEMBERS = 64;
    /**
     * Delay from the first change to {@link #flush}: schedulers start hundreds of executors at once. Missing members
     * are looked up meanwhile.
     */
    public static final Duration FLUSH_DELAY = Duration.ofMillis(50);

    private static final Logger LOG = LoggerFactory.getLogger(RegistryServer.class);
    /** Far more than can still have an announcement in flight. */
    private static final int MAX_RETIRED = 4096;
    /** Members named to one that joins. */
    private static final int SOURCES = 3;

    private final Object lock = new Object();
    private final Map<String, Registration> registrations = new LinkedHashMap<>();
    private final RetiredMembers retired = new RetiredMembers(MAX_RETIRED);
    private final AtomicLong messagesReceived = new AtomicLong();
    private final RegistryCodec codec = new RegistryCodec();
    private final Random random = new Random();
    private final IntPredicate shuffleExists;
    private final Runnable changed;
    private final int directMembers;
    private final FlushTimes flushes;
    /** Executor ids that have changed since the last flush. */
    private final Set<String> pending = new LinkedHashSet<>();
    /** Members of the latest update, of which some may be gone: what later ones may ask. */
    private List<Registration> established = List.of();

    private long version;

    /**
     * Creates a registry without members.
     *
     * @param shuffleExists whether a shuffle has not been removed yet; called on any thread, must not block
     * @param changed called at the first change after a flush, on any thread; must not block, and call {@link #flush}
     *     from another thread, {@link #FLUSH_DELAY} later
     */
    public RegistryServer(IntPredicate shuffleExists, Runnable changed) {
        this(shuffleExists, changed, DIRECT_MEMBERS, System::nanoTime);
    }

    /**
     * For tests and simulations.
     *
     * @param directMembers in place of {@link #DIRECT_MEMBERS}
     */
    public RegistryServer(IntPredicate shuffleExists, Runnable changed, int directMembers, LongSupplier nanoClock) {
        this.shuffleExists = shuffleExists;
        this.changed = changed;
        this.directMembers = directMembers;
        this.flushes = new FlushTimes(nanoClock);
    }

    private static final class Registration {
        final Member member;
        final MemberChannel channel;
        /** Whether its executor has ended, so that nothing is sent to it. Guarded by the server's lock. */
        private boolean ended;

        /** Guarded by the registration itself: pushes run outside the driver's lock. */
        private boolean failureLogged;

        Registration(Member member, MemberChannel channel) {
            this.member = member;
            this.channel = channel;
        }

        void send(byte[] update) {
            try {
                channel.send(update);
            } catch (RuntimeException e) {
                if (isFirstFailure()) {
                    LOG.warn("Cannot push membership changes to {}; its lookups will ask the driver", member, e);
                }
            }
        }

        CompletableFuture<Void> deliver(byte[] relay) {
            try {
                return channel.deliver(relay);
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
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
            Set<Integer> gone = held.shuffleIds().stream()
                    .filter(id -> !shuffleExists.test(id))
                    .collect(Collectors.toSet());
            synchronized (lock) {
                return new ShufflesGone(flushes.settled(), gone);
            }
        }
        if (request instanceof SnapshotRequest) {
            synchronized (lock) {
                return snapshot();
            }
        }
        LOG.warn("Ignoring an unexpected {}", request.getClass().getSimpleName());
        return null;
    }

    /**
     * Keeps an executor as a member although Spark lost it, because others can read its memory: nothing is sent to it,
     * and it cannot announce itself again. Later {@link #memberRemoved} drops it.
     */
    public void memberEnded(String executorId) {
        synchronized (lock) {
            Registration registration = registrations.get(executorId);
            if (registration != null) {
                registration.ended = true;
            }
        }
    }

    /** Changes the addresses of an ended member: another executor serves it. The next flush tells the others. */
    public void memberInherited(Member ended) {
        String executorId = ended.executorId();
        synchronized (lock) {
            Registration known = registrations.get(executorId);
            if (known == null || !known.ended || !known.member.incarnation().equals(ended.incarnation())) {
                return;
            }
            Registration inherited = new Registration(ended, known.channel);
            inherited.ended = true;
            registrations.put(executorId, inherited);
            if (!isFirstChange(executorId)) {
                return;
            }
        }
        changed.run();
    }

    /** Drops an executor that Spark lost; unknown ones are remembered as gone. The next flush tells the others. */
    public void memberRemoved(String executorId) {
        synchronized (lock) {
            Registration removed = registrations.remove(executorId);
            if (removed == null) {
                // Spark may report one loss twice; only an executor never heard of is kept out whatever it says.
                if (!retired.knows(executorId)) {
                    retired.add(executorId, null);
                }
                return;
            }
            retired.add(executorId, removed.member.incarnation());
            if (!isFirstChange(executorId)) {
                return;
            }
        }
        changed.run();
    }

    /**
     * Makes one update of all changes since the last and tells the members; does nothing if there are none. Encodes on
     * the calling thread, which so must be none of Spark's.
     */
    public void flush() {
        MembershipUpdate update;
        List<Registration> members;
        synchronized (lock) {
            if (pending.isEmpty()) {
                return;
            }
            List<Member> added = new ArrayList<>();
            List<String> removed = new ArrayList<>();
            for (String executorId : pending) {
                Registration registration = registrations.get(executorId);
                if (registration == null) {
                    removed.add(executorId);
                } else {
                    added.add(registration.member);
                }
            }
            members = registrations.values().stream()
                    .filter(registration -> !registration.ended)
                    .toList();
            update = new MembershipUpdate(version + 1, added, removed);
            // From here on nothing fails; until here nothing has changed.
            version++;
            pending.clear();
            flushes.add(version);
            established = members;
        }
        if (members.size() <= directMembers) {
            byte[] message = codec.encode(update);
            members.forEach(member -> member.send(message));
        } else {
            spread(codec.encodeOnce(update), members);
        }
    }

    private void spread(EncodedUpdate update, List<Registration> members) {
        Map<String, Registration> byId = new HashMap<>();
        members.forEach(each -> byId.put(each.member.executorId(), each));
        MemberTable table = new MemberTable();
        table.putAll(members.stream().map(each -> each.member).toList());
        RelayFanout fanout = new RelayFanout(update, (to, relay) -> {
            Registration registration = byId.get(to.executorId());
            return registration == null
                    ? CompletableFuture.failedFuture(new IllegalStateException(to + " is no member"))
                    : registration.deliver(codec.encode(relay));
        });
        fanout.spread(HashRange.ALL, table.all(), RelayParts.NO_HASH);
    }

    /** Returns all members, in the order of their first announcements. */
    public List<Member> members() {
        synchronized (lock) {
            return registrations.values().stream().map(each -> each.member).toList();
        }
    }

    /** Returns the number of updates so far. */
    public long version() {
        synchronized (lock) {
            return version;
        }
    }

    /** Returns the number of messages handled by {@link #handle}: O(executors), independent of shuffles. */
    public long messagesReceived() {
        return messagesReceived.get();
    }

    private RegistryMessage announced(Member member, MemberChannel channel) {
        String executorId = member.executorId();
        RegistryMessage answer;
        synchronized (lock) {
            Registration known = registrations.get(executorId);
            if (retired.contains(member) || (known != null && known.ended)) {
                LOG.info("Refused an announcement of {}: it has been removed from the application", member);
                return new AnnounceRefused(member + " has been removed from the application");
            }
            Registration before = registrations.put(executorId, new Registration(member, channel));
            if (before != null && !before.member.incarnation().equals(member.incarnation())) {
                retired.add(executorId, before.member.incarnation());
            }
            answer = registrations.size() <= directMembers ? snapshot() : welcome(executorId);
            if ((before != null && before.member.equals(member)) || !isFirstChange(executorId)) {
                return answer;
            }
        }
        changed.run();
        return answer;
    }

    /** Only with the lock held: notes a change and returns whether it is the first since the last flush. */
    private boolean isFirstChange(String executorId) {
        boolean first = pending.isEmpty();
        pending.add(executorId);
        return first;
    }

    /** Requires the lock. Returns the current members, which may be ahead of the version. */
    private Snapshot snapshot() {
        return new Snapshot(version, members());
    }

    /** Requires the lock. Returns random members of earlier updates. */
    private Welcome welcome(String joining) {
        Map<String, Member> sources = new LinkedHashMap<>();
        for (int i = 0; i < Welcome.MAX_SOURCES && sources.size() < SOURCES && !established.isEmpty(); i++) {
            Registration drawn = established.get(random.nextInt(established.size()));
            String executorId = drawn.member.executorId();
            if (registrations.get(executorId) == drawn && !drawn.ended && !executorId.equals(joining)) {
                sources.put(executorId, drawn.member);
            }
        }
        return new Welcome(version, List.copyOf(sources.values()));
    }

    private LookupReply lookedUp(String executorId) {
        synchronized (lock) {
            Registration registration = registrations.get(executorId);
            return new LookupReply(version, executorId, registration == null ? null : registration.member);
        }
    }
}
