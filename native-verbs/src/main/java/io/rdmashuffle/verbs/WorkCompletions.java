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

    /** Makes room for {@code capacity} completions. */
    public WorkCompletions(int capacity) {
        this.capacity = capacity;
        this.array = new NativeBuffer((long) capacity * ibv_wc.SIZEOF);
    }

    /** Returns how many completions the last poll brought. */
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

    /** Returns the number that the poster gave to the request. */
    public long workRequestId(int index) {
        return RawMemory.getLong(at(index) + ibv_wc.wr_id);
    }

    /** Returns whether the request succeeded; of the other fields only id, queue pair and vendor error count if not. */
    public boolean succeeded(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.status) == VerbsConstants.IBV_WC_SUCCESS;
    }

    /** Returns how the request ended. */
    public CompletionStatus status(int index) {
        return CompletionStatus.of(RawMemory.getInt(at(index) + ibv_wc.status));
    }

    /** Returns whether this is the completion of a receive, rather than of a request to send, read, write. */
    public boolean isReceive(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.opcode) & VerbsConstants.IBV_WC_RECV) != 0;
    }

    /** Returns the bytes received; for READ and atomics those that arrived. */
    public int lengthBytes(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.byte_len);
    }

    /** Returns whether a received message carried immediate data. */
    public boolean hasImmediate(int index) {
        return (RawMemory.getInt(at(index) + ibv_wc.wc_flags) & VerbsConstants.IBV_WC_WITH_IMM) != 0;
    }

    /** Returns the immediate data that the sender gave. */
    public int immediate(int index) {
        return Integer.reverseBytes(RawMemory.getInt(at(index) + ibv_wc.imm_data));
    }

    /** Returns the number of the local queue pair. */
    public int queuePairNumber(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.qp_num);
    }

    /** Returns the device maker's own error number. */
    public int vendorError(int index) {
        return RawMemory.getInt(at(index) + ibv_wc.vendor_err);
    }

    @Override
    public void close() {
        array.close();
    }

    /** The array is alive as long as this object is open, which is its owner's part. */
    private long at(int index) {
        return array.address() + (long) Objects.checkIndex(index, count) * ibv_wc.SIZEOF;
    }
}
