// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_wc;
import java.util.Objects;

/**
 * Room for the completions of one poll, and access to them: one native array, no garbage.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it.
 *
 * <p><b>Source:</b> ibv_poll_cq(3), struct ibv_wc.
 */
public final class WorkCompletions implements AutoCloseable {
    private final NativeBuffer array;
    private final int capacity;
    private int count;

    /**
     * Makes room.
     *
     * @param capacity most completions taken by one poll
     */
    public WorkCompletions(int capacity) {
        this.capacity = capacity;
        this.array = new NativeBuffer((long) capacity * ibv_wc.SIZEOF);
    }

    /** {@return how many completions the last poll took} */
    public int count() {
        return count;
    }

    int capacity() {
        return capacity;
    }

    long address() {
        return array.address();
    }

    void setCount(int completions) {
        count = completions;
    }

    /**
     * {@return the id that the request was posted with}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public long workRequestId(int index) {
        return RawMemory.getLong(at(index) + ibv_wc.wr_id);
    }

    /**
     * {@return whether the request succeeded; if not, only id, status, queue pair number and vendor error are valid}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean succeeded(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.status) == VerbsConstants.IBV_WC_SUCCESS;
    }

    /**
     * {@return how the request ended}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public CompletionStatus status(int index) {
        return CompletionStatus.of(RawMemory.getInt(at(index) + ibv_wc.status));
    }

    /**
     * {@return whether this is the completion of a receive}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean isReceive(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.opcode) & VerbsConstants.IBV_WC_RECV) != 0;
    }

    /**
     * {@return whether a receive was taken by a WRITE with immediate data, whose bytes are not in its memory}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean isReceiveOfWrite(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.opcode) == VerbsConstants.IBV_WC_RECV_RDMA_WITH_IMM;
    }

    /**
     * {@return the bytes received, of datagrams with the route header; of READs and atomics, the bytes read}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int lengthBytes(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.byte_len);
    }

    /**
     * {@return whether a received message carried immediate data}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasImmediate(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.wc_flags) & VerbsConstants.IBV_WC_WITH_IMM) != 0;
    }

    /**
     * {@return the immediate data; only valid with {@link #hasImmediate}}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int immediate(int index) {
        return Integer.reverseBytes(RawMemory.getInt(at(index) + ibv_wc.imm_data));
    }

    /**
     * {@return whether a received message revoked an rkey of this side; soft-RoCE (Linux 6.1) revokes it without
     * reporting it}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasInvalidated(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.wc_flags) & VerbsConstants.IBV_WC_WITH_INV) != 0;
    }

    /**
     * {@return the rkey that the message took back; only valid with {@link #hasInvalidated}}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int invalidatedKey(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.invalidated_rkey);
    }

    /**
     * {@return the number of the local queue pair}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int queuePairNumber(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.qp_num);
    }

    /**
     * {@return the number of the queue pair that sent a datagram; not valid on connections}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int sourceQueuePair(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.src_qp);
    }

    /**
     * {@return whether the first 40 bytes of a received datagram are a route header; if not, they are undefined}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasRouteHeader(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.wc_flags) & VerbsConstants.IBV_WC_GRH) != 0;
    }

    /**
     * {@return the device vendor's own error number, 0 if none}
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int vendorError(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.vendor_err);
    }

    @Override
    public void close() {
        array.close();
    }

    /** The array is alive as long as this object is open, which is its owner's part. */
    long at(int index) {
        return array.address() + (long) Objects.checkIndex(index, count) * ibv_wc.SIZEOF;
    }
}
