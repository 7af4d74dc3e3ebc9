// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.bench.metadata.Traffic.Flow;
import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberChannel;
import io.rdmashuffle.registry.PeerChannel;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.registry.RegistryUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The driver's registry with calls in place of Spark's RPC and block transfer: every message is encoded and decoded as
 * there, and counted.
 *
 * <p><b>Threading:</b> one thread.
 */
final class CountedDriver implements PeerChannel {
    private final RegistryServer registry = newRegistry();
    private final RegistryCodec codec = new RegistryCodec();
    private final List<byte[]> announcements = new ArrayList<>();
    private final Map<String, RegistryAgent> agents = new HashMap<>();
    private Flow requests = Flow.NONE;
    private Flow replies = Flow.NONE;
    private Flow pushes = Flow.NONE;
    private Flow passedOn = Flow.NONE;

    private static RegistryServer newRegistry() {
        return new RegistryServer(shuffleId -> true, () -> {});
    }

    /** Makes an executor reachable. */
    void add(String executorId, RegistryAgent agent) {
        agents.put(executorId, agent);
    }

    /** Returns an executor's way to ask, on which the driver pushes changes back. */
    DriverChannel channel(String executorId) {
        MemberChannel back = bytes -> {
            pushes = pushes.plus(bytes);
            deliver(executorId, bytes);
        };
        return (request, timeout) -> answer(request, back);
    }

    private void deliver(String executorId, byte[] bytes) {
        RegistryAgent agent = agents.get(executorId);
        RegistryMessage message = codec.decode(bytes);
        if (agent != null && message instanceof MembershipUpdate update) {
            agent.onMessage(update);
        } else if (agent != null && message instanceof Relay relay) {
            agent.onRelay(relay);
        }
    }

    private RegistryMessage answer(RegistryMessage request, MemberChannel back) throws RegistryUnavailableException {
        byte[] asked = codec.encode(request);
        requests = requests.plus(asked);
        if (request instanceof Announce) {
            announcements.add(asked);
        }
        RegistryMessage reply = registry.handle(codec.decode(asked), back);
        if (reply == null) {
            throw new RegistryUnavailableException("no answer to " + request);
        }
        byte[] bytes = codec.encode(reply);
        replies = replies.plus(bytes);
        return codec.decode(bytes);
    }

    @Override
    public CompletableFuture<Void> push(Member to, RegistryMessage message) {
        byte[] bytes = codec.encode(message);
        passedOn = passedOn.plus(bytes);
        deliver(to.executorId(), bytes);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException {
        RegistryAgent agent = agents.get(from.executorId());
        if (agent == null) {
            throw new RegistryUnavailableException(from + " is not there");
        }
        byte[] bytes = codec.encode(agent.snapshotFor(atLeast));
        passedOn = passedOn.plus(bytes);
        return codec.decode(bytes);
    }

    /** Flushes changes, as the driver does shortly after a change. */
    void flush() {
        registry.flush();
    }

    Traffic traffic() {
        return new Traffic(requests, replies, pushes, passedOn);
    }

    /** Returns what the driver itself counts as received. */
    long messagesReceived() {
        return registry.messagesReceived();
    }

    /** Returns another registry that was told the same, as it would be after a join without members to push to. */
    RegistryServer copy() {
        RegistryServer copy = newRegistry();
        announcements.forEach(bytes -> copy.handle(codec.decode(bytes), update -> {}));
        return copy;
    }
}
