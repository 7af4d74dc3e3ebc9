// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

/**
 * One end of the modelled network: it handles one message after the other, and each takes time there and on its way.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Endpoint {
    /** From one host to another, through Spark's stack. */
    static final long LATENCY_NANOS = 1_000_000;
    /** Of one message, at each end. */
    static final long PROCESSING_NANOS = 100_000;
    /** 10 Gb/s. */
    static final double BYTES_PER_NANO = 1.25;

    private final VirtualTime time;
    private long sendingUntil;
    private long receivingUntil;
    private long sentMessages;
    private long sentBytes;
    private long receivedMessages;
    private long receivedBytes;

    Endpoint(VirtualTime time) {
        this.time = time;
    }

    /** Messages and bytes in both directions. */
    record Totals(long sentMessages, long sentBytes, long receivedMessages, long receivedBytes) {
        Totals since(Totals before) {
            return new Totals(
                    sentMessages - before.sentMessages,
                    sentBytes - before.sentBytes,
                    receivedMessages - before.receivedMessages,
                    receivedBytes - before.receivedBytes);
        }

        long messages() {
            return sentMessages + receivedMessages;
        }

        long bytes() {
            return sentBytes + receivedBytes;
        }
    }

    Totals totals() {
        return new Totals(sentMessages, sentBytes, receivedMessages, receivedBytes);
    }

    /** Returns when a message that is sent now, or when this end is done with those before it, has been handled. */
    long send(Endpoint to, long bytes) {
        return send(to, bytes, time.now());
    }

    /** The same for a message that is sent at some later moment. */
    long send(Endpoint to, long bytes, long earliest) {
        sentMessages++;
        sentBytes += bytes;
        to.receivedMessages++;
        to.receivedBytes += bytes;
        long work = PROCESSING_NANOS + (long) (bytes / BYTES_PER_NANO);
        sendingUntil = Math.max(sendingUntil, earliest) + work;
        to.receivingUntil = Math.max(to.receivingUntil, sendingUntil + LATENCY_NANOS) + work;
        return to.receivingUntil;
    }
}
