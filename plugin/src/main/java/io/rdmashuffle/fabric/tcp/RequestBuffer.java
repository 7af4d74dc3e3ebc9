// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.tcp.Frames.Status;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * Requests of a peer, in the buffer that they arrive in until they are answered. Each is identified by its offset.
 *
 * <p>Each is checked once, before it is answered. What the check found is kept in its header. The kernel reads ranges
 * of the disk tier ahead when requests arrive, so that all disks work for all peers while one thread answers.
 *
 * <p><b>Threading:</b> on the thread of its loop.
 *
 * <p><b>Ownership:</b> borrows a buffer of its loop while there are requests.
 */
final class RequestBuffer {
    /** The status of a request that was checked is kept in the bits above the number of its slices. */
    private static final int STATUS_SHIFT = 16;

    private static final int SLICES_MASK = 0xFFFF;

    private final ServeLoop loop;
    private final ServedPool pool;

    /** Requests, from its beginning to its position; null when there are none. */
    private @Nullable ByteBuffer buffer;

    /** Requests before this offset have been checked. */
    private int checkedEnd;

    /** Ranges of requests before this offset are read ahead. */
    private int aheadEnd;

    RequestBuffer(ServeLoop loop, ServedPool pool) {
        this.loop = loop;
        this.pool = pool;
    }

    boolean isEmpty() {
        return buffer == null;
    }

    boolean hasRoom() {
        return buffer == null || buffer.hasRemaining();
    }

    /**
     * Receives without waiting; the caller has checked that there is room. Keeps no buffer if nothing has arrived.
     *
     * @return the number of bytes, or -1 at the end of the connection
     */
    int receive(SocketChannel channel) throws IOException {
        ByteBuffer current = buffer;
        if (current == null) {
            current = loop.lendBuffer();
            buffer = current;
        }
        int received = channel.read(current);
        if (current.position() == 0) {
            release();
        } else {
            readAhead(current);
        }
        return received;
    }

    private void readAhead(ByteBuffer arrived) {
        while (arrived.position() - aheadEnd >= Frames.REQUEST_HEADER_BYTES) {
            int slices = slices(aheadEnd);
            int end = at(aheadEnd, slices);
            if (slices < 1 || slices > Frames.MAX_SLICES || end > arrived.position()) {
                return;
            }
            for (int i = 0; i < slices; i++) {
                int regionId = regionId(aheadEnd, i);
                FileSlice range = Region.isOnDisk(regionId)
                        ? pool.leased(regionId, offset(aheadEnd, i), length(aheadEnd, i))
                        : null;
                if (range != null) {
                    range.readAhead();
                }
            }
            aheadEnd = end;
        }
    }

    /**
     * Removes the requests before an offset if there is no room for one of maximal length; returns whether it did. That
     * offset is 0 then.
     */
    boolean compact(int from) {
        ByteBuffer current = buffer;
        if (current == null || from == 0 || current.remaining() >= Frames.MAX_REQUEST_BYTES) {
            return false;
        }
        current.flip().position(from);
        current.compact();
        checkedEnd = Math.max(0, checkedEnd - from);
        aheadEnd = Math.max(0, aheadEnd - from);
        return true;
    }

    /** Returns whether there are requests, all of which are before an offset. */
    boolean endsAt(int offset) {
        return buffer != null && buffer.position() == offset;
    }

    /** Drops all requests and returns the buffer. */
    void release() {
        ByteBuffer current = buffer;
        if (current != null) {
            buffer = null;
            checkedEnd = 0;
            aheadEnd = 0;
            loop.returnBuffer(current);
        }
    }

    /** Checks the request at an offset unless that has been done; returns false if it has not arrived as a whole. */
    boolean check(int request) {
        if (request < checkedEnd) {
            return true;
        }
        ByteBuffer current = buffer;
        int arrived = current == null ? 0 : current.position() - request;
        if (current == null || arrived < Frames.REQUEST_HEADER_BYTES) {
            return false;
        }
        int slices = current.getInt(request + 4);
        boolean malformed = slices < 1 || slices > Frames.MAX_SLICES;
        if (!malformed && arrived < Frames.REQUEST_HEADER_BYTES + slices * Frames.SLICE_BYTES) {
            return false;
        }
        int counted = malformed ? 0 : slices;
        Status status = malformed ? Status.MALFORMED : Status.OK;
        for (int i = 0; i < counted && status == Status.OK; i++) {
            status = statusOf(regionId(request, i), offset(request, i), length(request, i));
        }
        current.putInt(request + 4, counted | status.number() << STATUS_SHIFT);
        checkedEnd = end(request);
        return true;
    }

    private Status statusOf(int regionId, long offset, long length) {
        if (offset < 0 || length < 1) {
            return Status.MALFORMED;
        }
        if (Region.isOnDisk(regionId)) {
            FileSlice range = pool.leased(regionId, offset, length);
            return range != null && loop.files().isReadable(range) ? Status.OK : Status.UNREADABLE;
        }
        Region region = pool.get(regionId);
        if (region == null) {
            return pool.wasReleased(regionId) ? Status.REGION_ABSENT : Status.OUT_OF_BOUNDS;
        }
        long end = region.memory().lengthBytes();
        return length <= end && offset <= end - length ? Status.OK : Status.OUT_OF_BOUNDS;
    }

    /** Returns the outcome of the check. */
    Status status(int request) {
        return Status.of(requests().getInt(request + 4) >>> STATUS_SHIFT);
    }

    int id(int request) {
        return requests().getInt(request);
    }

    int slices(int request) {
        return requests().getInt(request + 4) & SLICES_MASK;
    }

    int regionId(int request, int slice) {
        return requests().getInt(at(request, slice));
    }

    long offset(int request, int slice) {
        return requests().getLong(at(request, slice) + Frames.OFFSET);
    }

    long length(int request, int slice) {
        return requests().getLong(at(request, slice) + Frames.LENGTH);
    }

    /** Returns the total length of a request's slices. */
    long responseBytes(int request) {
        long bytes = 0;
        int slices = slices(request);
        for (int i = 0; i < slices; i++) {
            bytes += length(request, i);
        }
        return bytes;
    }

    /** Returns the offset of the request that follows one that was checked. */
    int end(int request) {
        return at(request, slices(request));
    }

    private static int at(int request, int slice) {
        return request + Frames.REQUEST_HEADER_BYTES + slice * Frames.SLICE_BYTES;
    }

    private ByteBuffer requests() {
        ByteBuffer current = buffer;
        if (current == null) {
            throw new IllegalStateException("no requests");
        }
        return current;
    }
}
