// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Progress of a request over a connection: the slices sent so far, the bytes received. Reused, so that a read makes no
 * garbage.
 *
 * <p><b>Threading:</b> handed from the requesting thread to one reading thread; one thread at a time.
 */
final class PendingRead {
    private @Nullable ReadRequest request;
    private @Nullable Connection connection;
    private long startedNanos;
    private int lostConnections;
    private int sentSlices;
    private long receivedBytes;

    /** Links the reads of a connection, or of the queue of a loop. */
    @Nullable
    PendingRead next;

    /** Connection that a read is sent over; on the thread of its loop. */
    interface Connection {
        /** Adds a read; returns whether the caller must {@link #send} now, which it must once for all that it adds. */
        boolean add(PendingRead read);

        /** Sends the reads that were added. */
        void send();

        /** Records that a read of this connection has ended; on any thread. */
        void ended(ReadRequest request);
    }

    void start(ReadRequest read, Connection over) {
        request = read;
        connection = over;
        startedNanos = System.nanoTime();
        lostConnections = 0;
        next = null;
        rewind();
    }

    /** Resets to the beginning: nothing has been sent. */
    void rewind() {
        sentSlices = 0;
        receivedBytes = 0;
    }

    /** Drops the references, for the next use. */
    void clear() {
        request = null;
        connection = null;
        next = null;
    }

    ReadRequest request() {
        return bound(request);
    }

    Connection connection() {
        return bound(connection);
    }

    private static <T> T bound(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a pending read that was not started");
        }
        return value;
    }

    long startedNanos() {
        return startedNanos;
    }

    boolean isExpired(long nowNanos) {
        return nowNanos - request().deadlineNanos() >= 0;
    }

    /** Counts a connection that failed while this was due; returns how many have. */
    int countLostConnection() {
        return ++lostConnections;
    }

    /** Returns whether any slice has been sent over the current connection. */
    boolean isSent() {
        return sentSlices > 0;
    }

    /** Returns the number of slices that have not been sent. */
    int unsentSlices() {
        return request().sources().size() - sentSlices;
    }

    /** Writes the next slices into a request; returns the bytes that they bring. */
    long encode(ByteBuffer out, int count) {
        List<RemoteSlice> sources = request().sources();
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            RemoteSlice slice = sources.get(sentSlices++);
            out.putInt(slice.regionId()).putLong(slice.offset()).putLong(slice.lengthBytes());
            bytes += slice.lengthBytes();
        }
        return bytes;
    }

    /** Returns the bytes that have arrived in the target. */
    long receivedBytes() {
        return receivedBytes;
    }

    void received(long bytes) {
        receivedBytes += bytes;
    }
}
