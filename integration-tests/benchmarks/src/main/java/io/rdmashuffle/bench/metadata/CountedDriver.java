// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.bench.metadata.Traffic.Flow;
import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.MemberChannel;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.registry.RegistryUnavailableException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The driver's registry with calls in place of Spark's RPC: every message is encoded and decoded as there, and counted.
 *
 * <p><b>Threading:</b> one thread.
 */
final class CountedDriver {
    private final RegistryServer registry = new RegistryServer();
    private final RegistryCodec codec = new RegistryCodec();
    private final List<byte[]> announcements = new ArrayList<>();
    private Flow requests = Flow.NONE;
    private Flow replies = Flow.NONE;
    private Flow pushes = Flow.NONE;

    /** Returns an executor's way to ask, on which the driver pushes changes back. */
    DriverChannel channel(Consumer<MembershipUpdate> executor) {
        MemberChannel back = message -> {
            byte[] bytes = codec.encode(message);
            pushes = pushes.plus(bytes);
            executor.accept((MembershipUpdate) codec.decode(bytes));
        };
        return (request, timeout) -> answer(request, back);
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

    Traffic traffic() {
        return new Traffic(requests, replies, pushes);
    }

    /** Returns what the driver itself counts as received. */
    long messagesReceived() {
        return registry.messagesReceived();
    }

    /** Returns another registry that was told the same, as it would be after a join without anybody to push to. */
    RegistryServer copy() {
        RegistryServer copy = new RegistryServer();
        announcements.forEach(bytes -> copy.handle(codec.decode(bytes), update -> {}));
        return copy;
    }
}
