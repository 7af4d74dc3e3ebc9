// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Peers whose reads are held until all of them are let go at once, so that round trips can be counted.
 *
 * <p><b>Threading:</b> thread-safe; one thread lets go.
 */
public final class HeldPeer {
    private final List<Held> held = new ArrayList<>();
    private boolean broken;
    private long reads;

    private record Held(Peer peer, ReadRequest request) {}

    /** Returns {@code peer}, which its owner closes, with its reads held here. */
    public Peer hold(Peer peer) {
        return (Peer) Proxy.newProxyInstance(
                Peer.class.getClassLoader(), new Class<?>[] {Peer.class}, (proxy, method, arguments) -> {
                    return method.getName().equals("read")
                            ? (Object) read(peer, (ReadRequest) arguments[0])
                            : method.invoke(peer, arguments);
                });
    }

    private synchronized boolean read(Peer peer, ReadRequest request) {
        if (broken) {
            throw new IllegalStateException("the fabric is broken");
        }
        reads++;
        return held.add(new Held(peer, request));
    }

    /** Throws when a read is begun, or does so no more. */
    public synchronized void broken(boolean isBroken) {
        broken = isBroken;
    }

    /** Returns how many reads have been begun. */
    public synchronized long reads() {
        return reads;
    }

    /** Returns whether reads are held. */
    public synchronized boolean isHolding() {
        return !held.isEmpty();
    }

    private synchronized List<Held> takeHeld(int atMost) {
        List<Held> first = held.subList(0, Math.min(atMost, held.size()));
        List<Held> taken = List.copyOf(first);
        first.clear();
        return taken;
    }

    /** Lets all reads go that are held, and waits until they have ended and their listeners have returned. */
    public void roundTrip() throws InterruptedException {
        letGo(takeHeld(Integer.MAX_VALUE));
    }

    /** Completes only the read that was started first. */
    public void firstRoundTrip() throws InterruptedException {
        letGo(takeHeld(1));
    }

    private static void letGo(List<Held> taken) throws InterruptedException {
        CountDownLatch left = new CountDownLatch(taken.size());
        for (Held each : taken) {
            ReadRequest held = each.request();
            ReadRequest counted = new ReadRequest(
                    held.sources(), held.target(), held.deadlineNanos(), new Counted(held.listener(), left));
            each.peer().read(counted);
        }
        if (!left.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("reads have not ended");
        }
    }

    /** Fails all reads that are held. */
    public void fail(ReadFailedException failure) {
        for (Held each : takeHeld(Integer.MAX_VALUE)) {
            each.request().target().close();
            each.request().listener().failed(each.request(), failure);
        }
    }

    private record Counted(ReadRequest.Listener listener, CountDownLatch left) implements ReadRequest.Listener {
        @Override
        public void succeeded(ReadRequest request) {
            listener.succeeded(request);
            left.countDown();
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            listener.failed(request, failure);
            left.countDown();
        }
    }
}
