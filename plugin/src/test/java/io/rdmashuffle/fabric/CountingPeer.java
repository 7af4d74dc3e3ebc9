// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** A peer whose memory is looked at, and how often. */
public final class CountingPeer {
    private static final List<String> LOOKS = List.of("view", "region", "read");

    private final AtomicLong looks = new AtomicLong();
    private final Peer counted;

    /** Counts looks at {@code peer}, which its owner closes. */
    public CountingPeer(Peer peer) {
        this.counted = (Peer) Proxy.newProxyInstance(
                Peer.class.getClassLoader(), new Class<?>[] {Peer.class}, (proxy, method, arguments) -> {
                    looks.addAndGet(LOOKS.contains(method.getName()) ? 1 : 0);
                    return method.invoke(peer, arguments);
                });
    }

    /** Returns the peer whose looks are counted. */
    public Peer peer() {
        return counted;
    }

    /** Returns how often a view, a region or a read was asked for since this was asked last. */
    public long takeLooks() {
        return looks.getAndSet(0);
    }
}
