// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/**
 * One side of a ball that goes to and fro: the last byte of a WRITE, or a message.
 *
 * <p><b>Threading:</b> one thread for each side.
 */
final class PingPong implements AutoCloseable {
    private final Operation operation;
    private final QueuePairs.Side own;
    private final QueuePairs.Side peer;
    private final int bytes;
    private final SendRequests sends = new SendRequests(1, 1);
    private final ReceiveRequests receives = new ReceiveRequests(1);
    private final WorkCompletions completions = new WorkCompletions(1);
    private boolean sending;

    private PingPong(Operation operation, QueuePairs.Side own, QueuePairs.Side peer, int bytes) {
        this.operation = operation;
        this.own = own;
        this.peer = peer;
        this.bytes = bytes;
    }

    static PingPong of(Operation operation, QueuePairs.Side own, QueuePairs.Side peer, int bytes) {
        PingPong side = new PingPong(operation, own, peer, bytes);
        RawMemory.putByte(own.at(bytes - 1), (byte) 0);
        if (operation == Operation.SEND) {
            side.postReceive();
        }
        return side;
    }

    private void postReceive() {
        receives.clear();
        receives.add(1, own.at(0), bytes, own.region().localKey());
        own.pair().post(receives);
    }

    /** Sends from the second half of the memory. */
    void send(int turn) {
        // The request before has left: its completion may come after the peer's answer.
        awaitSent();
        RawMemory.putByte(own.at(2L * bytes - 1), (byte) turn);
        sends.clear();
        if (operation == Operation.SEND) {
            sends.send(0, own.at(bytes), bytes, own.region().localKey(), true);
        } else {
            sends.write(
                    0,
                    own.at(bytes),
                    bytes,
                    own.region().localKey(),
                    peer.at(0),
                    peer.region().remoteKey(),
                    true);
        }
        own.pair().post(sends);
        sending = true;
    }

    private void awaitSent() {
        long deadline = deadline();
        while (sending) {
            poll();
            requireBefore(deadline);
        }
    }

    private static long deadline() {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(Load.LIMIT_SECONDS);
    }

    private static void requireBefore(long deadline) {
        if (System.nanoTime() - deadline > 0) {
            throw new IllegalStateException("nothing came within " + Load.LIMIT_SECONDS + " s");
        }
    }

    /** Polls once; returns whether a message has arrived. */
    private boolean poll() {
        boolean arrived = false;
        if (own.completions().poll(completions) > 0) {
            QueuePairLoad.requireSuccess(completions, 0);
            arrived = completions.isReceive(0);
            sending &= arrived;
        }
        return arrived;
    }

    void await(int turn) {
        long deadline = deadline();
        boolean arrived = false;
        while (!arrived) {
            arrived = operation == Operation.SEND ? poll() : RawMemory.getByte(own.at(bytes - 1)) == (byte) turn;
            // The device writes it, so it must be read anew.
            VarHandle.acquireFence();
            requireBefore(deadline);
        }
        if (operation == Operation.SEND) {
            postReceive();
        }
    }

    @Override
    public void close() {
        awaitSent();
        sends.close();
        receives.close();
        completions.close();
    }
}
