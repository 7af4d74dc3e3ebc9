// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.Errno;

/**
 * A step of a connection, copied out of the library's event and already acknowledged.
 *
 * <p><b>Source:</b> rdma_get_cm_event(3).
 *
 * @param type what happened
 * @param id the connection or listener; for {@link Type#CONNECT_REQUEST} a new id, which the receiver of the event owns
 * @param status 0, or why it failed: a negative errno, or a transport's reason for {@link Type#REJECTED}
 * @param privateData what the other side gave, perhaps with zeros behind it
 * @param initiatorDepth READs that this side may have outstanding, as negotiated
 * @param responderResources READs that this side must serve at once
 * @param queuePairNumber the peer's, for {@link Type#CONNECT_REQUEST} and {@link Type#CONNECT_RESPONSE}; 0 on iWARP,
 *     which does not carry it
 */
@SuppressWarnings("ArrayRecordComponent") // a copy that belongs to the event's receiver
public record CmEvent(
        Type type,
        CmId id,
        int status,
        byte[] privateData,
        int initiatorDepth,
        int responderResources,
        int queuePairNumber) {
    /** Types of events, in the order of enum rdma_cm_event_type. */
    public enum Type {
        /** {@link CmId#resolveAddress} found the device. */
        ADDRESS_RESOLVED,
        /** {@link CmId#resolveAddress} failed: no route, or no RDMA device on it. */
        ADDRESS_ERROR,
        /** {@link CmId#resolveRoute} found the path. */
        ROUTE_RESOLVED,
        /** {@link CmId#resolveRoute} failed. */
        ROUTE_ERROR,
        /** A listener was asked for a connection. */
        CONNECT_REQUEST,
        /** The peer accepted; answer with {@link CmId#establish}. */
        CONNECT_RESPONSE,
        /** The connection could not be made. */
        CONNECT_ERROR,
        /** The peer did not answer. */
        UNREACHABLE,
        /** There is no listener, or it refused. */
        REJECTED,
        /** The connection is ready on both sides. */
        ESTABLISHED,
        /** The peer disconnected, or did not answer a disconnect. */
        DISCONNECTED,
        /** The device was removed: close everything on it. */
        DEVICE_REMOVAL,
        /** Not used by this library. */
        MULTICAST_JOIN,
        /** Not used by this library. */
        MULTICAST_ERROR,
        /** The address of the network interface changed. */
        ADDRESS_CHANGE,
        /** The queue pair number may be used again. */
        TIMEWAIT_EXIT,
        /** A number that this library does not know. */
        UNKNOWN;

        private static final Type[] BY_NUMBER = values();

        static Type of(int number) {
            return number >= 0 && number <= CmConstants.RDMA_CM_EVENT_TIMEWAIT_EXIT ? BY_NUMBER[number] : UNKNOWN;
        }
    }

    /** {@return the type with what its status means, for messages} */
    public String describe() {
        if (type == Type.REJECTED) {
            return "REJECTED (reason " + status + "): no listener at that address, or the peer refused the request";
        }
        if (status == 0) {
            return type.toString();
        }
        return type + ": " + Errno.describe(Math.abs(status));
    }
}
