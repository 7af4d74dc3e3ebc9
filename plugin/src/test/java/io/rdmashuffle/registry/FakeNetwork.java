// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One driver and any number of executors in memory; every message passes through the codec. */
final class FakeNetwork {
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    final Set<Integer> removedShuffles = ConcurrentHashMap.newKeySet();
    final AtomicLong clockNanos = new AtomicLong();
    final RegistryServer driver;
    private final Map<String, Executor> executors = new ConcurrentHashMap<>();
    private final int directMembers;
    private final RegistryCodec codec = new RegistryCodec();
    volatile boolean driverDown;
    /** Whether changes are sent as they come, in place of by {@link RegistryServer#flush}. */
    volatile boolean flushesAtOnce = true;

    FakeNetwork() {
        this(RegistryServer.DIRECT_MEMBERS);
    }

    FakeNetwork(int directMembers) {
        this.directMembers = directMembers;
        this.driver = new RegistryServer(
                shuffleId -> !removedShuffles.contains(shuffleId), this::changed, directMembers, clockNanos::get);
    }

    private void changed() {
        if (flushesAtOnce) {
            driver.flush();
        }
    }

    Executor executor(String id) {
        Executor executor = new Executor(id);
        executors.put(id, executor);
        return executor;
    }

    void advance(Duration time) {
        clockNanos.addAndGet(time.toNanos());
    }

    /**
     * Executor that receives pushes at once unless {@link #held} keeps them, {@link #broken} throws or {@link #loses}
     * is set.
     */
    final class Executor implements MembershipListener, MemberChannel, PeerChannel {
        final RegistryAgent agent;
        final List<String> heard = new CopyOnWriteArrayList<>();
        final List<RegistryMessage> asked = new CopyOnWriteArrayList<>();
        final List<MembershipUpdate> held = new CopyOnWriteArrayList<>();
        final String id;
        volatile boolean hold;
        volatile boolean broken;
        /** Takes relays and does nothing with them. */
        volatile boolean loses;

        final List<String> pulled = new CopyOnWriteArrayList<>();
        final AtomicInteger pushed = new AtomicInteger();
        /** Runs on the asking thread before the driver sees the question. */
        volatile Runnable beforeAsk = () -> {};

        Executor(String id) {
            this.id = id;
            agent = new RegistryAgent(id, this::ask, this, TIMEOUT, directMembers, clockNanos::get);
            agent.addListener(this);
        }

        Executor announce(int incarnation) {
            agent.announce(TestMembers.member(id, incarnation));
            return this;
        }

        /** Delivers held messages in this order of positions; a position may be omitted or repeated. */
        void release(int... positions) {
            List<MembershipUpdate> updates = new ArrayList<>(held);
            held.clear();
            hold = false;
            for (int position : positions) {
                agent.onMessage(updates.get(position));
            }
        }

        private RegistryMessage ask(RegistryMessage request, Duration timeout) throws RegistryUnavailableException {
            asked.add(request);
            beforeAsk.run();
            if (driverDown) {
                throw new RegistryUnavailableException("the driver is down");
            }
            RegistryMessage answer = driver.handle(codec.decode(codec.encode(request)), this);
            return codec.decode(codec.encode(Objects.requireNonNull(answer)));
        }

        @Override
        public void send(byte[] bytes) {
            if (broken) {
                throw new IllegalStateException("the connection to executor " + id + " is gone");
            }
            RegistryMessage message = codec.decode(bytes);
            if (message instanceof Relay relay) {
                if (!loses) {
                    agent.onRelay(relay);
                }
            } else if (hold) {
                held.add((MembershipUpdate) message);
            } else {
                agent.onMessage((MembershipUpdate) message);
            }
        }

        @Override
        public CompletableFuture<Void> push(Member to, RegistryMessage message) {
            pushed.incrementAndGet();
            try {
                Objects.requireNonNull(executors.get(to.executorId())).send(codec.encode(message));
                return CompletableFuture.completedFuture(null);
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException {
            pulled.add(from.executorId());
            Executor source = executors.get(from.executorId());
            if (source == null || source.broken) {
                throw new RegistryUnavailableException(from + " is gone");
            }
            return codec.decode(codec.encode(source.agent.snapshotFor(atLeast)));
        }

        @Override
        public void changed(@Nullable Member before, @Nullable Member after) {
            if (before == null && after != null) {
                heard.add("+" + name(after));
            } else if (before != null && after == null) {
                heard.add("-" + name(before));
            } else if (before != null && after != null) {
                heard.add(name(before) + ">" + name(after));
            }
        }

        private static String name(Member member) {
            return member.executorId() + "." + member.incarnation().getLeastSignificantBits();
        }
    }
}
