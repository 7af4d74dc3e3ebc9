// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.WorkLayout.ibv_grh;
import io.rdmashuffle.ffi.WorkLayout.ibv_recv_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;

/**
 * A chain of receives that one call posts, one piece of memory each: native arrays used again and again, no garbage.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it. The memory that a posted receive names belongs to the device until its
 * completion.
 *
 * <p><b>Source:</b> ibv_post_recv(3), struct ibv_recv_wr.
 */
public final class ReceiveRequests implements AutoCloseable {
    /**
     * Bytes in front of each datagram, which its receive must have room for; connections have none.
     */
    public static final int ROUTE_HEADER_BYTES = ibv_grh.SIZEOF;

    private final NativeBuffer requests;
    private final NativeBuffer pieces;
    private final int capacity;
    private int size;

    /**
     * Makes room.
     *
     * @param capacity most receives in the chain
     */
    public ReceiveRequests(int capacity) {
        this.capacity = capacity;
        this.requests = new NativeBuffer((long) capacity * ibv_recv_wr.SIZEOF);
        this.pieces = new NativeBuffer((long) capacity * ibv_sge.SIZEOF);
    }

    /** {@return how many receives the chain has} */
    public int size() {
        return size;
    }

    /** Empties the chain. */
    public void clear() {
        size = 0;
    }

    /**
     * Adds a receive.
     *
     * @param id the id of its completion
     * @param local address that the message is written to
     * @param length most bytes of the message; 0 for one without payload. Datagrams need {@link #ROUTE_HEADER_BYTES}
     *     more
     * @param localKey lkey of the region around it
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public ReceiveRequests add(long id, long local, int length, int localKey) {
        if (size == capacity) {
            throw new IllegalStateException("this chain has at most " + capacity + " receives");
        }
        long request = requests.address() + (long) size * ibv_recv_wr.SIZEOF;
        long piece = pieces.address() + (long) size * ibv_sge.SIZEOF;
        if (size > 0) {
            RawMemory.putLong(request - ibv_recv_wr.SIZEOF + ibv_recv_wr.next, request);
        }
        size++;
        RawMemory.putLong(request + ibv_recv_wr.wr_id, id);
        RawMemory.putLong(request + ibv_recv_wr.next, 0);
        RawMemory.putLong(request + ibv_recv_wr.sg_list, piece);
        RawMemory.putInt(request + ibv_recv_wr.num_sge, length == 0 ? 0 : 1);
        ScatterGather.put(piece, local, length, localKey);
        return this;
    }

    @Override
    public void close() {
        requests.close();
        pieces.close();
    }

    /** Returns the first request, 0 if there is none; alive until {@link #close()}. */
    long head() {
        return size == 0 ? 0 : requests.address();
    }

    /** Returns the number of requests before the one at this address, which is 0 for the end of the chain. */
    int indexOf(long request) {
        return request == 0 ? size : (int) ((request - requests.address()) / ibv_recv_wr.SIZEOF);
    }
}
