// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmLayout.rdma_conn_param;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;

/**
 * The limits that one side proposes or grants while connecting, with private data.
 *
 * <p><b>Source:</b> rdma_connect(3), rdma_accept(3).
 *
 * @param queuePair this side's end
 * @param initiatorDepth most READs and atomics that this side has outstanding, at most 255 and what the device allows
 * @param responderResources most of them that this side serves at once
 * @param retries how often a packet is sent again, 0 to 7
 * @param rnrRetries how often a SEND is repeated while the peer has no receive posted, 0 to 6; 7 repeats without end
 * @param privateData at most 56 bytes in a request, 196 in an answer; the other side may see zeros behind them
 */
@SuppressWarnings("ArrayRecordComponent") // read once, by the call that it is made for
public record ConnectionParameters(
        QueuePair queuePair,
        int initiatorDepth,
        int responderResources,
        int retries,
        int rnrRetries,
        byte[] privateData) {
    /** Most private data of a connection request. */
    public static final int MAX_REQUEST_BYTES = 56;

    /** Most private data of an answer. */
    public static final int MAX_ANSWER_BYTES = 196;

    /** Writes a struct rdma_conn_param followed by the private data; the caller closes it. */
    NativeBuffer encode() {
        NativeBuffer encoded = new NativeBuffer((long) rdma_conn_param.SIZEOF + privateData.length);
        long data = encoded.address() + rdma_conn_param.SIZEOF;
        RawMemory.putBytes(data, privateData, 0, privateData.length);
        encoded.putLong(rdma_conn_param.private_data, data);
        encoded.putByte(rdma_conn_param.private_data_len, (byte) privateData.length);
        encoded.putByte(rdma_conn_param.responder_resources, (byte) responderResources);
        encoded.putByte(rdma_conn_param.initiator_depth, (byte) initiatorDepth);
        encoded.putByte(rdma_conn_param.retry_count, (byte) retries);
        encoded.putByte(rdma_conn_param.rnr_retry_count, (byte) rnrRetries);
        encoded.putInt(rdma_conn_param.qp_num, queuePair.number());
        return encoded;
    }
}
