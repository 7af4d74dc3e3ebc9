// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.VerbsConstants;
import java.util.Set;

/**
 * Arguments of ibv_modify_qp for each state without a connection manager: each method fills a zeroed
 * {@code ibv_qp_attr} but for its state, and returns the mask.
 *
 * <p><b>Threading:</b> stateless. <b>Source:</b> ibv_modify_qp(3), table of required attributes.
 */
final class PairTransitions {
    private PairTransitions() {}

    static int initialize(NativeBuffer attributes, PairAttributes own, Set<Access> remoteRights) {
        attributes.putInt(ibv_qp_attr.qp_access_flags, Access.flags(remoteRights));
        return port(attributes, own) | VerbsConstants.IBV_QP_ACCESS_FLAGS;
    }

    static int readyToReceive(NativeBuffer attributes, PairAttributes own, PairAddress peer) {
        attributes.putInt(ibv_qp_attr.path_mtu, PortAttributes.mtu(Math.min(own.mtuBytes(), peer.mtuBytes())));
        attributes.putInt(ibv_qp_attr.dest_qp_num, peer.number());
        attributes.putInt(ibv_qp_attr.rq_psn, peer.firstSequence());
        attributes.putByte(ibv_qp_attr.max_dest_rd_atomic, (byte) own.responderResources());
        attributes.putByte(ibv_qp_attr.min_rnr_timer, (byte) own.minRnrTimer());
        AddressVector.put(attributes, ibv_qp_attr.ah_attr, own, peer);
        return VerbsConstants.IBV_QP_STATE
                | VerbsConstants.IBV_QP_AV
                | VerbsConstants.IBV_QP_PATH_MTU
                | VerbsConstants.IBV_QP_DEST_QPN
                | VerbsConstants.IBV_QP_RQ_PSN
                | VerbsConstants.IBV_QP_MAX_DEST_RD_ATOMIC
                | VerbsConstants.IBV_QP_MIN_RNR_TIMER;
    }

    static int readyToSend(NativeBuffer attributes, PairAttributes own, PairAddress peer) {
        attributes.putByte(ibv_qp_attr.timeout, (byte) own.ackTimeout());
        attributes.putByte(ibv_qp_attr.retry_cnt, (byte) own.retries());
        attributes.putByte(ibv_qp_attr.rnr_retry, (byte) own.rnrRetries());
        attributes.putInt(ibv_qp_attr.sq_psn, own.firstSequence());
        attributes.putByte(ibv_qp_attr.max_rd_atomic, (byte) Math.min(own.initiatorDepth(), peer.responderResources()));
        return VerbsConstants.IBV_QP_STATE
                | VerbsConstants.IBV_QP_TIMEOUT
                | VerbsConstants.IBV_QP_RETRY_CNT
                | VerbsConstants.IBV_QP_RNR_RETRY
                | VerbsConstants.IBV_QP_SQ_PSN
                | VerbsConstants.IBV_QP_MAX_QP_RD_ATOMIC;
    }

    /** RESET to INIT of a pair for datagrams; RTR wants nothing more. */
    static int initializeDatagrams(NativeBuffer attributes, PairAttributes own, int queueKey) {
        attributes.putInt(ibv_qp_attr.qkey, queueKey);
        return port(attributes, own) | VerbsConstants.IBV_QP_QKEY;
    }

    static int sendDatagrams(NativeBuffer attributes, PairAttributes own) {
        attributes.putInt(ibv_qp_attr.sq_psn, own.firstSequence());
        return VerbsConstants.IBV_QP_STATE | VerbsConstants.IBV_QP_SQ_PSN;
    }

    private static int port(NativeBuffer attributes, PairAttributes own) {
        attributes.putByte(ibv_qp_attr.port_num, (byte) own.port());
        attributes.putShort(ibv_qp_attr.pkey_index, (short) own.partitionKeyIndex());
        return VerbsConstants.IBV_QP_STATE | VerbsConstants.IBV_QP_PORT | VerbsConstants.IBV_QP_PKEY_INDEX;
    }
}
