// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.VerbsConstants;

/**
 * Overrides of the connection manager's proposed attributes; {@link #AS_PROPOSED} keeps one.
 *
 * <p><b>Source:</b> ibv_modify_qp(3).
 *
 * @param ackTimeout exponent: a packet is sent again after 4.096 us x 2^ackTimeout without an answer, 1 to 31
 * @param retries how often it is sent again before the pair goes into error, 0 to 7
 * @param pathMtuBytes most payload of one packet: 256, 512, 1024, 2048, 4096
 * @param serviceLevel InfiniBand service level, 0 to 15
 * @param trafficClass of the global route header, on RoCE v2 the IP header's type of service, 0 to 255
 */
public record QueuePairTuning(int ackTimeout, int retries, int pathMtuBytes, int serviceLevel, int trafficClass) {
    /** Leaves a value as the connection manager proposes it. */
    public static final int AS_PROPOSED = -1;

    /** Changes nothing. */
    public static final QueuePairTuning DEFAULT =
            new QueuePairTuning(AS_PROPOSED, AS_PROPOSED, AS_PROPOSED, AS_PROPOSED, AS_PROPOSED);

    /**
     * What the kernel uses of an attribute mask on InfiniBand; librdmacm masks the rest for old kernels.
     */
    private static final int INFINIBAND_MASK = ~0xe00000;

    /** Overwrites proposed attributes; returns the mask to modify with. */
    int apply(NativeBuffer attributes, int proposedMask, boolean ethernet) {
        int mask = ethernet ? proposedMask : proposedMask & INFINIBAND_MASK;
        if (ackTimeout != AS_PROPOSED && (mask & VerbsConstants.IBV_QP_TIMEOUT) != 0) {
            attributes.putByte(ibv_qp_attr.timeout, (byte) ackTimeout);
        }
        if (retries != AS_PROPOSED && (mask & VerbsConstants.IBV_QP_RETRY_CNT) != 0) {
            attributes.putByte(ibv_qp_attr.retry_cnt, (byte) retries);
        }
        if ((mask & VerbsConstants.IBV_QP_PATH_MTU) != 0 && pathMtuBytes != AS_PROPOSED) {
            attributes.putInt(ibv_qp_attr.path_mtu, PortAttributes.mtu(pathMtuBytes));
        }
        if ((mask & VerbsConstants.IBV_QP_AV) != 0) {
            if (serviceLevel != AS_PROPOSED) {
                attributes.putByte(ibv_qp_attr.ah_attr__sl, (byte) serviceLevel);
            }
            if (trafficClass != AS_PROPOSED) {
                attributes.putByte(ibv_qp_attr.ah_attr__grh__traffic_class, (byte) trafficClass);
            }
        }
        return mask;
    }
}
