// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** One driver and any number of executors in memory; every message passes through the codec. */
final class FakeNetwork {
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    final Set<Integer> removedShuffles = ConcurrentHashMap.newKeySet();
    final RegistryServer driver = new RegistryServer(shuffleId -> !removedShuffles.contains(shuffleId));
    final AtomicLong clockNanos = new AtomicLong();
    private final RegistryCodec codec = new RegistryCodec();
    volatile boolean driverDown;

    Executor executor(String id) {
        return new Executor(id);
    }

    void advance(Duration time) {
        clockNanos.addAndGet(time.toNanos());
    }

    /** One executor; pushes to it are delivered at once unless {@link #held} keeps them or {@link #broken} throws. */
    final class Executor implements MembershipListener {
        final RegistryAgent agent;
        final List<String> heard = new CopyOnWriteArrayList<>();
        final List<RegistryMessage> asked = new CopyOnWriteArrayList<>();
        final List<MembershipUpdate> held = new CopyOnWriteArrayList<>();
        private final String id;
        volatile boolean hold;
        volatile boolean broken;
        /** Runs on the asking thread before the driver sees the question. */
        volatile Runnable beforeAsk = () -> {};

        Executor(String id) {
            this.id = id;
            agent = new RegistryAgent(id, this::ask, TIMEOUT, clockNanos::get);
            agent.addListener(this);
        }

        Executor announce(int incarnation) {
            agent.announce(TestMembers.member(id, incarnation));
            return this;
        }

        /** Delivers what was held, in this order of positions; a position may be left out or repeated. */
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
            RegistryMessage answer = driver.handle(codec.decode(codec.encode(request)), this::push);
            return codec.decode(codec.encode(Objects.requireNonNull(answer)));
        }

        private void push(RegistryMessage message) {
            if (broken) {
                throw new IllegalStateException("the connection to executor " + id + " is gone");
            }
            MembershipUpdate update = (MembershipUpdate) codec.decode(codec.encode(message));
            if (hold) {
                held.add(update);
            } else {
                agent.onMessage(update);
            }
        }

        @Override
        public void memberAdded(Member member) {
            heard.add("+" + name(member));
        }

        @Override
        public void memberReplaced(Member before, Member after) {
            heard.add(name(before) + ">" + name(after));
        }

        @Override
        public void memberRemoved(Member member) {
            heard.add("-" + name(member));
        }

        private static String name(Member member) {
            return member.executorId() + "." + member.incarnation().getLeastSignificantBits();
        }
    }
}
