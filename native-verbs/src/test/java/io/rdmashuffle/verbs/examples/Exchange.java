// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;

/**
 * Exchange of messages, one at a time. The server echoes each message, as ibv_rc_pingpong does; the client compares.
 *
 * <pre>
 *  0          bytes      2 bytes    3 bytes
 *  +----------+----------+----------+
 *  | sent     | receive 0| receive 1|
 *  +----------+----------+----------+
 * </pre>
 *
 * <p>While one message is looked at or sent back there is a receive for the next.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it, and the link after it.
 */
final class Exchange implements AutoCloseable {
    private static final int SLOTS = 2;
    private static final long SENT = SLOTS;
    private static final int NONE = -1;

    private final Side side;
    private final int bytes;
    private final Arrivals arrivals;
    private final SendRequests sends = new SendRequests(1, 1);
    private final ReceiveRequests receives = new ReceiveRequests(1);
    private boolean sending;
    private int arrived = NONE;

    /** What a side needs for messages of this length. */
    static Side.Needs needs(int bytes) {
        return new Side.Needs((1L + SLOTS) * bytes, 1, SLOTS, Set.of());
    }

    /** Posts the receives, before the peer can send. */
    static void prepare(Side side, int bytes) {
        try (ReceiveRequests both = new ReceiveRequests(SLOTS)) {
            for (int slot = 0; slot < SLOTS; slot++) {
                both.add(slot, side.at(bytes * (1L + slot)), bytes, side.localKey());
            }
            side.pair().post(both);
        }
    }

    Exchange(Link link, int bytes, Duration timeout) {
        this.side = link.side();
        this.bytes = bytes;
        this.arrivals = new Arrivals(link, 1 + SLOTS, timeout, false);
    }

    /** Sends messages and compares their echoes; returns the nanoseconds of each round trip. */
    long[] lead(int count) throws IOException {
        Payload payload = new Payload(bytes);
        long[] nanos = new long[count];
        for (int i = 0; i < count; i++) {
            payload.put(i, side.at(0));
            long started = System.nanoTime();
            send(side.at(0));
            int slot = awaitMessage();
            nanos[i] = System.nanoTime() - started;
            awaitSent();
            payload.check(i, receivedAt(slot));
            receive(slot);
        }
        return nanos;
    }

    /** Echoes {@code count} messages. */
    void follow(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            int slot = awaitMessage();
            send(receivedAt(slot));
            awaitSent();
            receive(slot);
        }
    }

    private long receivedAt(int slot) {
        return side.at(bytes * (1L + slot));
    }

    private void send(long address) {
        sends.clear();
        side.pair().post(sends.send(SENT, address, bytes, side.localKey(), true));
        sending = true;
    }

    private void receive(int slot) {
        receives.clear();
        side.pair().post(receives.add(slot, receivedAt(slot), bytes, side.localKey()));
    }

    private int awaitMessage() throws IOException {
        while (arrived == NONE) {
            take("message of " + bytes + " bytes");
        }
        int slot = arrived;
        arrived = NONE;
        return slot;
    }

    private void awaitSent() throws IOException {
        while (sending) {
            take("completion of a SEND of " + bytes + " bytes");
        }
    }

    private void take(String what) throws IOException {
        WorkCompletions completions = arrivals.await(what);
        for (int i = 0; i < completions.count(); i++) {
            long id = completions.workRequestId(i);
            if (id == SENT) {
                sending = false;
            } else if (completions.lengthBytes(i) != bytes) {
                throw new IOException("a message of " + completions.lengthBytes(i) + " bytes instead of " + bytes
                        + "; both sides need the same --size");
            } else {
                arrived = (int) id;
            }
        }
    }

    @Override
    public void close() {
        arrivals.close();
        sends.close();
        receives.close();
    }
}
