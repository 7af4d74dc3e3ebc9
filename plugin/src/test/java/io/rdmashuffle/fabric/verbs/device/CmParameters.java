// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.CmLayout.rdma_conn_param;
import io.rdmashuffle.ffi.RawMemory;

/** What rdma_connect or rdma_accept was given. */
@SuppressWarnings("ArrayRecordComponent") // a copy, read once
public record CmParameters(
        int pairNumber, int initiatorDepth, int responderResources, int rnrRetries, byte[] privateData) {
    static CmParameters read(long parameters) {
        return new CmParameters(
                RawMemory.getInt(parameters + rdma_conn_param.qp_num),
                RawMemory.getByte(parameters + rdma_conn_param.initiator_depth),
                RawMemory.getByte(parameters + rdma_conn_param.responder_resources),
                RawMemory.getByte(parameters + rdma_conn_param.rnr_retry_count),
                bytes(
                        RawMemory.getLong(parameters + rdma_conn_param.private_data),
                        Byte.toUnsignedInt(RawMemory.getByte(parameters + rdma_conn_param.private_data_len))));
    }

    static byte[] bytes(long address, int length) {
        byte[] bytes = new byte[length];
        RawMemory.getBytes(address, bytes, 0, length);
        return bytes;
    }
}
