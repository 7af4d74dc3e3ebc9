// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.tcp.Frames.Status;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Requests sent over a connection whose responses are incomplete, oldest first. A long read has several.
 *
 * <p>Holds the buffers that response headers are received in, and counts the bytes of the oldest response. The n-th
 * request is counted from 0, the oldest.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SentRequests {
    /** 128 requests of 64 KiB cover 40 Gb/s x 1.6 ms. */
    private static final int MAX = 128;

    /** Length of each response's body; a ring, as are the other arrays. */
    private final long[] bytes = new long[MAX];

    private final boolean[] isLast = new boolean[MAX];
    /** Empty until the first request: many connections may never open. */
    private ByteBuffer[] headers = {};

    private int head;
    private int count;
    private int nextId;

    /** Bytes of the oldest response's header that have been counted. */
    private int headerReceived;

    /** Bytes of the oldest response's body that have been counted. */
    private long bodyReceived;

    boolean isEmpty() {
        return count == 0;
    }

    boolean isFull() {
        return count == MAX;
    }

    int count() {
        return count;
    }

    /** Returns the id of the request that is added next. */
    int nextId() {
        return nextId;
    }

    /**
     * Adds a request.
     *
     * @param responseBytes bytes that its slices have
     * @param isLastOfRead whether its response completes a read
     */
    void add(long responseBytes, boolean isLastOfRead) {
        int place = (head + count) % MAX;
        bytes[place] = responseBytes;
        isLast[place] = isLastOfRead;
        count++;
        nextId++;
    }

    private static ByteBuffer[] allocateHeaders() {
        ByteBuffer memory = ByteBuffer.allocateDirect(MAX * Frames.RESPONSE_HEADER_BYTES);
        ByteBuffer[] all = new ByteBuffer[MAX];
        for (int i = 0; i < MAX; i++) {
            all[i] = memory.slice(i * Frames.RESPONSE_HEADER_BYTES, Frames.RESPONSE_HEADER_BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN);
        }
        return all;
    }

    /** Returns the buffer that the header of the n-th response is received in; full when it has arrived. */
    ByteBuffer header(int n) {
        if (headers.length == 0) {
            headers = allocateHeaders();
        }
        return headers[(head + n) % MAX];
    }

    /** Returns the number of missing bytes of the n-th response's body. */
    long missingBytes(int n) {
        return bytes[(head + n) % MAX] - (n == 0 ? bodyReceived : 0);
    }

    boolean isLastOfRead(int n) {
        return isLast[(head + n) % MAX];
    }

    /** Counts the bytes of the oldest response's header that have arrived since the last call, and returns them. */
    int countHeaderBytes() {
        int position = header(0).position();
        int received = position - headerReceived;
        headerReceived = position;
        return received;
    }

    /** Counts up to {@code available} bytes of the oldest response's body; returns how many it took. */
    long countBodyBytes(long available) {
        long received = Math.min(available, missingBytes(0));
        bodyReceived += received;
        return received;
    }

    /** Returns whether the oldest response's header, which has arrived, matches its request. */
    boolean isHeaderExpected() {
        ByteBuffer header = header(0);
        boolean isOfItsLength = status() != Status.OK || header.getLong(8) == bytes[head];
        return header.getInt(0) == oldestId() && isOfItsLength;
    }

    private int oldestId() {
        return nextId - count;
    }

    /** Returns the status of the oldest response, whose header has arrived. */
    Status status() {
        return Status.of(header(0).getInt(4));
    }

    /** Returns the difference between the oldest response and its request, for messages. */
    String mismatch() {
        ByteBuffer header = header(0);
        return "response " + header.getInt(0) + " of " + header.getLong(8) + " bytes instead of " + oldestId() + " of "
                + bytes[head];
    }

    /** Removes the oldest, whose response is complete. */
    void remove() {
        header(0).clear();
        headerReceived = 0;
        bodyReceived = 0;
        head = (head + 1) % MAX;
        count--;
    }

    /** Drops everything: the next request is the first of a connection. */
    void clear() {
        for (ByteBuffer header : headers) {
            header.clear();
        }
        head = 0;
        count = 0;
        nextId = 0;
        headerReceived = 0;
        bodyReceived = 0;
    }
}
