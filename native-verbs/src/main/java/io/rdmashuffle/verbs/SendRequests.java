// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;
import java.util.Set;

/**
 * A chain of requests that one call posts and one doorbell starts: native arrays used again and again, no garbage.
 *
 * <p>Each method that adds a request takes the id that its completion will carry, a first piece of local memory, and
 * whether success is worth a completion ({@code signaled}); failures always complete. {@link #andLocal} adds further
 * pieces of local memory to the request added last.
 *
 * <pre>
 *  wr[0] -next-> wr[1] -next-> ... wr[n-1] -next-> null     128 bytes each
 *   |sg_list      |sg_list
 *  sge[0..k)     sge[k..2k)                                  16 bytes each, k = pieces per request
 * </pre>
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it. Once posted the device has its own copy of the chain, but not of the
 * memory it points to, unless that was sent inline.
 *
 * <p><b>Source:</b> ibv_post_send(3), struct ibv_send_wr, struct ibv_sge.
 */
public final class SendRequests implements AutoCloseable {
    private final NativeBuffer requests;
    private final NativeBuffer pieces;
    private final int capacity;
    private final int piecesPerRequest;
    private int size;

    /**
     * Makes room.
     *
     * @param capacity most requests in the chain
     * @param piecesPerRequest most pieces of local memory in one request
     */
    public SendRequests(int capacity, int piecesPerRequest) {
        this.capacity = capacity;
        this.piecesPerRequest = piecesPerRequest;
        this.requests = new NativeBuffer((long) capacity * ibv_send_wr.SIZEOF);
        this.pieces = new NativeBuffer((long) capacity * piecesPerRequest * ibv_sge.SIZEOF);
    }

    /** {@return how many requests the chain has} */
    public int size() {
        return size;
    }

    /** {@return whether there is no room for another} */
    public boolean isFull() {
        return size == capacity;
    }

    /** Empties the chain. */
    public void clear() {
        size = 0;
    }

    /**
     * Adds a READ of the peer's memory into local memory.
     *
     * @param id the id of its completion
     * @param local address of the local memory
     * @param length bytes; 0 for none
     * @param localKey lkey of the region around it
     * @param remote address in the peer's memory
     * @param remoteKey rkey of the peer's region
     * @param signaled whether success completes too
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests read(
            long id, long local, int length, int localKey, long remote, int remoteKey, boolean signaled) {
        long request = add(id, VerbsConstants.IBV_WR_RDMA_READ, signaled, local, length, localKey);
        return toRemote(request, remote, remoteKey);
    }

    /**
     * Adds a WRITE of local memory into the peer's.
     *
     * @param id the id of its completion
     * @param local address of the local memory
     * @param length bytes; 0 for none
     * @param localKey lkey of the region around it
     * @param remote address in the peer's memory
     * @param remoteKey rkey of the peer's region
     * @param signaled whether success completes too
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests write(
            long id, long local, int length, int localKey, long remote, int remoteKey, boolean signaled) {
        long request = add(id, VerbsConstants.IBV_WR_RDMA_WRITE, signaled, local, length, localKey);
        return toRemote(request, remote, remoteKey);
    }

    /**
     * Adds 32 bits of immediate data to the last WRITE or SEND, which consumes one of the peer's receives.
     *
     * @param immediate value in the peer's completion
     * @return this chain
     */
    public SendRequests withImmediate(int immediate) {
        long request = last();
        int opcode = RawMemory.getInt(request + ibv_send_wr.opcode);
        RawMemory.putInt(
                request + ibv_send_wr.opcode,
                opcode == VerbsConstants.IBV_WR_RDMA_WRITE
                        ? VerbsConstants.IBV_WR_RDMA_WRITE_WITH_IMM
                        : VerbsConstants.IBV_WR_SEND_WITH_IMM);
        RawMemory.putInt(request + ibv_send_wr.imm_data, Integer.reverseBytes(immediate));
        return this;
    }

    /**
     * Turns the SEND added last into one that also takes back an rkey of the peer: when the peer's receive completes,
     * which tells the key, the window behind it is invalid, and the peer need not spend a request on that.
     *
     * @param remoteKey the key of a window of type two that the peer bound on the other end of this connection
     * @return this chain
     */
    public SendRequests invalidating(int remoteKey) {
        long request = last();
        RawMemory.putInt(request + ibv_send_wr.opcode, VerbsConstants.IBV_WR_SEND_WITH_INV);
        RawMemory.putInt(request + ibv_send_wr.invalidate_rkey, remoteKey);
        return this;
    }

    /**
     * Adds a SEND, which consumes the peer's next posted receive.
     *
     * @param id the id of its completion
     * @param local address of the local memory
     * @param length bytes; 0 for none
     * @param localKey lkey of the region around it
     * @param signaled whether success completes too
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests send(long id, long local, int length, int localKey, boolean signaled) {
        add(id, VerbsConstants.IBV_WR_SEND, signaled, local, length, localKey);
        return this;
    }

    /**
     * Makes the last SEND a datagram to a queue pair; at most as long as the port's MTU.
     *
     * @param handle the way to the peer's port; must stay open until the request has completed
     * @param queuePairNumber the peer's queue pair
     * @param queueKey what the peer's pair was given by {@link QueuePair#startDatagrams}; datagrams with another are
     *     dropped there. With the highest bit set, that of the sending pair goes out instead
     * @return this chain
     */
    public SendRequests to(AddressHandle handle, int queuePairNumber, int queueKey) {
        long request = last();
        RawMemory.putLong(request + ibv_send_wr.wr__ud__ah, handle.handle());
        RawMemory.putInt(request + ibv_send_wr.wr__ud__remote_qpn, queuePairNumber);
        RawMemory.putInt(request + ibv_send_wr.wr__ud__remote_qkey, queueKey);
        return this;
    }

    /**
     * Makes the last request signaled: it completes when it succeeds too; failures always complete.
     *
     * @return this chain
     */
    public SendRequests signaled() {
        return flag(VerbsConstants.IBV_SEND_SIGNALED);
    }

    /**
     * Makes the last request inline (IBV_SEND_INLINE): its bytes are copied into the work request; they may be reused
     * as soon as it is posted.
     *
     * @return this chain
     */
    public SendRequests inline() {
        return flag(VerbsConstants.IBV_SEND_INLINE);
    }

    /**
     * Makes the last request wait until earlier READs and atomics of the queue pair are done.
     *
     * @return this chain
     */
    public SendRequests fenced() {
        return flag(VerbsConstants.IBV_SEND_FENCE);
    }

    /**
     * Adds an atomic that sets 8 bytes of the peer if they have the expected value; always signaled.
     *
     * @param id the id of its completion
     * @param local address of 8 bytes that the old value is written to
     * @param localKey lkey of the region around it
     * @param remote address of the peer's 8 bytes, aligned to 8
     * @param remoteKey rkey of the peer's region
     * @param expected the value to compare with
     * @param desired the value to set
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests compareAndSwap(
            long id, long local, int localKey, long remote, int remoteKey, long expected, long desired) {
        long request = add(id, VerbsConstants.IBV_WR_ATOMIC_CMP_AND_SWP, true, local, Long.BYTES, localKey);
        return atomic(request, remote, remoteKey, expected, desired);
    }

    /**
     * Adds an atomic that adds to 8 bytes of the peer; always signaled.
     *
     * @param id the id of its completion
     * @param local address of 8 bytes that the old value is written to
     * @param localKey lkey of the region around it
     * @param remote address of the peer's 8 bytes, aligned to 8
     * @param remoteKey rkey of the peer's region
     * @param addend the number to add
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests fetchAndAdd(long id, long local, int localKey, long remote, int remoteKey, long addend) {
        long request = add(id, VerbsConstants.IBV_WR_ATOMIC_FETCH_AND_ADD, true, local, Long.BYTES, localKey);
        return atomic(request, remote, remoteKey, addend, 0);
    }

    /**
     * Adds the binding of a window of type two to a part of a region; always signaled. When it has completed, record
     * the key with {@link MemoryWindow#rebound}.
     *
     * @param id the id of its completion
     * @param window the window
     * @param remoteKey the key from then on: {@link MemoryWindow#nextRemoteKey()}
     * @param region the region under the window, with {@link Access#BIND_WINDOW}
     * @param address first byte that the window opens
     * @param length bytes that it opens
     * @param remoteRights what the peer may do, at most what the region allows
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests bindWindow(
            long id,
            MemoryWindow window,
            int remoteKey,
            MemoryRegion region,
            long address,
            long length,
            Set<Access> remoteRights) {
        long request = add(id, VerbsConstants.IBV_WR_BIND_MW, true, 0, 0, 0);
        RawMemory.putLong(request + ibv_send_wr.bind_mw__mw, window.handle());
        RawMemory.putInt(request + ibv_send_wr.bind_mw__rkey, remoteKey);
        RawMemory.putLong(request + ibv_send_wr.bind_mw__bind_info__mr, region.handle());
        RawMemory.putLong(request + ibv_send_wr.bind_mw__bind_info__addr, address);
        RawMemory.putLong(request + ibv_send_wr.bind_mw__bind_info__length, length);
        RawMemory.putInt(request + ibv_send_wr.bind_mw__bind_info__mw_access_flags, Access.flags(remoteRights));
        return this;
    }

    /**
     * Adds a request that takes back the rkey of a window of type two; once it has completed, peers are refused. Always
     * signaled.
     *
     * @param id the id of its completion
     * @param remoteKey the key to take back
     * @return this chain
     * @throws IllegalStateException if the chain is full
     */
    public SendRequests invalidate(long id, int remoteKey) {
        long request = add(id, VerbsConstants.IBV_WR_LOCAL_INV, true, 0, 0, 0);
        RawMemory.putInt(request + ibv_send_wr.invalidate_rkey, remoteKey);
        return this;
    }

    /**
     * Adds a further piece of local memory to the request added last.
     *
     * @param local address of the piece
     * @param length bytes
     * @param localKey lkey of the region around it
     * @return this chain
     * @throws IllegalStateException if the request has as many pieces as the chain allows
     */
    public SendRequests andLocal(long local, int length, int localKey) {
        long request = last();
        int used = RawMemory.getInt(request + ibv_send_wr.num_sge);
        if (used == piecesPerRequest) {
            throw new IllegalStateException("a request of this chain has at most " + piecesPerRequest + " pieces");
        }
        ScatterGather.put(
                RawMemory.getLong(request + ibv_send_wr.sg_list) + (long) used * ibv_sge.SIZEOF,
                local,
                length,
                localKey);
        RawMemory.putInt(request + ibv_send_wr.num_sge, used + 1);
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
        return request == 0 ? size : (int) ((request - requests.address()) / ibv_send_wr.SIZEOF);
    }

    private long add(long id, int opcode, boolean signaled, long local, int length, int localKey) {
        if (size == capacity) {
            throw new IllegalStateException("this chain has at most " + capacity + " requests");
        }
        long request = requests.address() + (long) size * ibv_send_wr.SIZEOF;
        long piece = pieces.address() + (long) size * piecesPerRequest * ibv_sge.SIZEOF;
        if (size > 0) {
            RawMemory.putLong(request - ibv_send_wr.SIZEOF + ibv_send_wr.next, request);
        }
        size++;
        RawMemory.putLong(request + ibv_send_wr.wr_id, id);
        RawMemory.putLong(request + ibv_send_wr.next, 0);
        RawMemory.putLong(request + ibv_send_wr.sg_list, piece);
        RawMemory.putInt(request + ibv_send_wr.num_sge, length == 0 ? 0 : 1);
        RawMemory.putInt(request + ibv_send_wr.opcode, opcode);
        RawMemory.putInt(request + ibv_send_wr.send_flags, signaled ? VerbsConstants.IBV_SEND_SIGNALED : 0);
        RawMemory.putInt(request + ibv_send_wr.imm_data, 0);
        ScatterGather.put(piece, local, length, localKey);
        return request;
    }

    private SendRequests toRemote(long request, long remote, int remoteKey) {
        RawMemory.putLong(request + ibv_send_wr.wr__rdma__remote_addr, remote);
        RawMemory.putInt(request + ibv_send_wr.wr__rdma__rkey, remoteKey);
        return this;
    }

    private SendRequests atomic(long request, long remote, int remoteKey, long compareOrAdd, long swap) {
        RawMemory.putLong(request + ibv_send_wr.wr__atomic__remote_addr, remote);
        RawMemory.putLong(request + ibv_send_wr.wr__atomic__compare_add, compareOrAdd);
        RawMemory.putLong(request + ibv_send_wr.wr__atomic__swap, swap);
        RawMemory.putInt(request + ibv_send_wr.wr__atomic__rkey, remoteKey);
        return this;
    }

    private SendRequests flag(int flag) {
        long request = last();
        RawMemory.putInt(request + ibv_send_wr.send_flags, RawMemory.getInt(request + ibv_send_wr.send_flags) | flag);
        return this;
    }

    private long last() {
        if (size == 0) {
            throw new IllegalStateException("the chain is empty");
        }
        return requests.address() + (long) (size - 1) * ibv_send_wr.SIZEOF;
    }
}
