// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberChannel;
import io.rdmashuffle.registry.PeerChannel;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.registry.RegistryUnavailableException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * One executor: the plugin's agent on the modelled network. It repairs itself 100 ms after it detects a gap, and
 * queries the driver once a minute, as {@code io.rdmashuffle.spark} does.
 *
 * <p>A query is answered with the current state; its duration is added to {@link #knowsAt()}. Messages are encoded for
 * their length; the object itself is delivered, so that executors share it, and every thousandth is decoded.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SimulatedMember implements DriverChannel, PeerChannel, MemberChannel {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final long PUSH_TIMEOUT_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long REPAIR_NANOS = Duration.ofMillis(100).toNanos();
    private static final int DECODED = 1000;

    private final MembershipCluster cluster;
    private final Member member;
    private final Endpoint endpoint;
    private final RegistryAgent agent;
    private final boolean loses;
    private boolean alive = true;
    private boolean repairing;
    private long pushes;
    private long answeredAt;
    private long version;
    private long versionAt;

    /**
     * Creates one that has not joined yet.
     *
     * @param loses whether it accepts relays without forwarding them
     */
    SimulatedMember(MembershipCluster cluster, Member member, boolean loses) {
        this.cluster = cluster;
        this.member = member;
        this.loses = loses;
        this.endpoint = new Endpoint(cluster.time());
        this.agent = new RegistryAgent(
                member.executorId(), this, this, TIMEOUT, RegistryServer.DIRECT_MEMBERS, cluster.time()::now);
    }

    RegistryAgent agent() {
        return agent;
    }

    Endpoint endpoint() {
        return endpoint;
    }

    Member member() {
        return member;
    }

    /** Returns the version of which nothing is missing. */
    long version() {
        return version;
    }

    /** Returns when this version was reached. */
    long knowsAt() {
        return versionAt;
    }

    void join() {
        agent.announce(member);
        acted();
    }

    void sweep() {
        if (alive) {
            agent.removedShuffles(Set.of());
            acted();
        }
    }

    void die() {
        alive = false;
        agent.close();
    }

    boolean isAlive() {
        return alive;
    }

    private void acted() {
        long reached = agent.completeVersion();
        if (reached != version) {
            version = reached;
            versionAt = Math.max(cluster.time().now(), answeredAt);
        }
        if (agent.isStale() && !repairing) {
            repairing = true;
            cluster.time().after(REPAIR_NANOS, this::repair);
        }
    }

    private void repair() {
        repairing = false;
        if (alive) {
            agent.repair();
            acted();
        }
    }

    @Override
    public RegistryMessage ask(RegistryMessage request, Duration timeout) throws RegistryUnavailableException {
        long asked = endpoint.send(cluster.driver(), cluster.sizes().of(request));
        RegistryMessage answer = cluster.server().handle(request, this);
        if (answer == null) {
            throw new RegistryUnavailableException("no answer to " + request);
        }
        if (request instanceof SnapshotRequest) {
            cluster.countDriverSnapshot();
        }
        answeredAt = cluster.driver().send(endpoint, cluster.sizes().of(answer), asked);
        return answer;
    }

    @Override
    public RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException {
        SimulatedMember source = cluster.member(from);
        if (source == null || !source.alive) {
            throw new RegistryUnavailableException(from + " is gone");
        }
        RegistryMessage answer = source.agent.snapshotFor(atLeast);
        cluster.countPull(answer instanceof Snapshot);
        // The id of the block that is fetched; Spark sends no more.
        long asked = endpoint.send(source.endpoint, 64);
        answeredAt = source.endpoint.send(endpoint, cluster.sizes().of(answer), asked);
        return answer;
    }

    @Override
    public CompletableFuture<Void> push(Member to, RegistryMessage message) {
        if (loses) {
            return CompletableFuture.completedFuture(null);
        }
        byte[] bytes = cluster.sizes().codec().encode(message);
        RegistryMessage delivered =
                pushes++ % DECODED == 0 ? cluster.sizes().codec().decode(bytes) : message;
        SimulatedMember receiver = cluster.member(to);
        if (receiver == null || !receiver.alive) {
            CompletableFuture<Void> late = new CompletableFuture<>();
            cluster.time()
                    .after(
                            PUSH_TIMEOUT_NANOS,
                            () -> late.completeExceptionally(new RegistryUnavailableException(to + " is gone")));
            return late;
        }
        return receiver.takeFrom(endpoint, delivered, bytes.length);
    }

    /** One-way messages of the driver. */
    @Override
    public void send(byte[] bytes) {
        var unused = takeFrom(cluster.driver(), cluster.sizes().codec().decode(bytes), bytes.length);
    }

    /** Channel to the driver. */
    @Override
    public CompletableFuture<Void> deliver(byte[] bytes) {
        return takeFrom(cluster.driver(), cluster.sizes().codec().decode(bytes), bytes.length)
                .thenRun(() -> endpoint.send(cluster.driver(), cluster.sizes().of(new Taken())));
    }

    private CompletableFuture<Void> takeFrom(Endpoint sender, RegistryMessage message, long bytes) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        cluster.time().at(sender.send(endpoint, bytes), () -> {
            if (!alive) {
                done.completeExceptionally(new RegistryUnavailableException(member + " is gone"));
                return;
            }
            if (message instanceof MembershipUpdate update) {
                agent.onMessage(update);
            } else if (message instanceof Relay relay) {
                agent.onRelay(relay);
            }
            acted();
            done.complete(null);
        });
        return done;
    }
}
