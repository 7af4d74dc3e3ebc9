// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A driver and its executors on the modelled network.
 *
 * <p><b>Threading:</b> one thread.
 */
final class MembershipCluster {
    /** The default of {@code spark.shuffle.rdma.registry.sweepInterval}. */
    static final Duration SWEEP_INTERVAL = Duration.ofMinutes(1);

    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    /** Interval between checks that all members know all. */
    private static final long LOOK_NANOS = SECOND / 50;
    /** Several times the expected duration; afterwards the run has failed. */
    private static final long GIVE_UP_NANOS = 300 * SECOND;

    /** Extra time where members pass nothing on: others find out at their next sweep. */
    private static final double KNOWN_GOAL_SECONDS = 10;

    private static final int COMPARED = 50;

    private final VirtualTime time = new VirtualTime();
    private final MessageSizes sizes = new MessageSizes();
    private final Endpoint driver = new Endpoint(time);
    private final RegistryServer server =
            new RegistryServer(shuffleId -> true, this::flushSoon, RegistryServer.DIRECT_MEMBERS, time::now);
    private final Map<String, SimulatedMember> members = new HashMap<>();
    private final Random random;
    private final int losingEach;
    private int created;
    private long peerSnapshots;
    private long peersBehind;
    private long driverSnapshots;

    /**
     * Creates a cluster without executors.
     *
     * @param losingEach one of this many executors forwards nothing; 0 if all do
     */
    MembershipCluster(long seed, int losingEach) {
        this.random = new Random(seed);
        this.losingEach = losingEach;
    }

    /** Counts of snapshot requests: to peers that had it, to peers that were behind, to the driver. */
    record Snapshots(long fromPeers, long peersBehind, long fromDriver) {
        Snapshots since(Snapshots before) {
            return new Snapshots(
                    fromPeers - before.fromPeers, peersBehind - before.peersBehind, fromDriver - before.fromDriver);
        }
    }

    /** Returns how long it may take until all know all. */
    double goalSeconds() {
        return losingEach == 0 ? KNOWN_GOAL_SECONDS : KNOWN_GOAL_SECONDS + (double) SWEEP_INTERVAL.toNanos() / SECOND;
    }

    VirtualTime time() {
        return time;
    }

    MessageSizes sizes() {
        return sizes;
    }

    Endpoint driver() {
        return driver;
    }

    RegistryServer server() {
        return server;
    }

    Random random() {
        return random;
    }

    @Nullable
    SimulatedMember member(Member member) {
        SimulatedMember found = members.get(member.executorId());
        return found != null && found.member().incarnation().equals(member.incarnation()) ? found : null;
    }

    List<SimulatedMember> members() {
        return List.copyOf(members.values());
    }

    void countPull(boolean answered) {
        peerSnapshots += answered ? 1 : 0;
        peersBehind += answered ? 0 : 1;
    }

    void countDriverSnapshot() {
        driverSnapshots++;
    }

    Snapshots snapshots() {
        return new Snapshots(peerSnapshots, peersBehind, driverSnapshots);
    }

    private void flushSoon() {
        time.after(RegistryServer.FLUSH_DELAY.toNanos(), server::flush);
    }

    /** Adds an executor that announces itself at a moment, and asks the driver once in every interval from then. */
    void joinAt(long nanos) {
        int number = created++;
        boolean loses = losingEach > 0 && number % losingEach == losingEach - 1;
        SimulatedMember member =
                new SimulatedMember(this, MessageSizes.member(Integer.toString(number), number), loses);
        long interval = SWEEP_INTERVAL.toNanos();
        time.at(nanos, () -> {
            members.put(member.member().executorId(), member);
            member.join();
            sweepAfter(member, (long) (random.nextDouble() * interval));
        });
    }

    private void sweepAfter(SimulatedMember member, long nanos) {
        time.after(nanos, () -> {
            if (member.isAlive()) {
                member.sweep();
                sweepAfter(member, SWEEP_INTERVAL.toNanos());
            }
        });
    }

    /** Ends an executor, of which the driver hears at once. */
    void remove(SimulatedMember member) {
        member.die();
        members.remove(member.member().executorId());
        server.memberRemoved(member.member().executorId());
    }

    /**
     * Advances time until every executor knows every other.
     *
     * @return when the last one did
     * @throws IllegalStateException if they never do, or think so wrongly
     */
    long untilAllKnowAll() {
        long began = time.now();
        // What changed last is not sent before that.
        time.runUntil(began + 2 * RegistryServer.FLUSH_DELAY.toNanos());
        while (!members.values().stream().allMatch(each -> each.version() == server.version())) {
            if (time.now() - began > GIVE_UP_NANOS) {
                throw new IllegalStateException("after 300 s executors still miss changes");
            }
            time.runUntil(time.now() + LOOK_NANOS);
        }
        compare();
        return members.values().stream()
                .mapToLong(SimulatedMember::knowsAt)
                .max()
                .orElse(began);
    }

    /** Checks that every executor knows the right number of members, and that some know the right ones. */
    private void compare() {
        Set<Member> all = new HashSet<>(server.members());
        int looked = 0;
        for (SimulatedMember member : members.values()) {
            List<Member> peers = member.agent().peers();
            boolean right = peers.size() == all.size() - 1;
            if (right && looked++ < COMPARED) {
                Set<Member> known = new HashSet<>(peers);
                known.add(member.member());
                right = known.equals(all);
            }
            if (!right) {
                throw new IllegalStateException(
                        member.member() + " knows " + peers.size() + " others of " + all.size());
            }
        }
    }

    /** Returns executors drawn at random. */
    List<SimulatedMember> some(int count) {
        List<SimulatedMember> drawn = new ArrayList<>(members.values());
        Collections.shuffle(drawn, random);
        return drawn.subList(0, count);
    }
}
