package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.Errno;

/**
 * A step of a connection, copied out of the library's event and already acknowledged.
 *
 * <p><b>Source:</b> rdma_get_cm_event(3).
 *
 * @param type what happened
 * @param id whom it happened to; for {@link Type#CONNECT_REQUEST} a new id, which the receiver of the event owns
 * @param status 0, or why it failed: a negative errno, or a transport's reason for {@link Type#REJECTED}
 * @param privateData what the other side gave, perhaps with zeros behind it
 * @param initiatorDepth READs that this side may have outstanding, as negotiated
 * @param responderResources READs that this side must serve at once
 */
@SuppressWarnings("ArrayRecordComponent") // a copy that belongs to the event's receiver
public record CmEvent(Type type, CmId id, int status, byte[] privateData, int initiatorDepth, int responderResources) {
    /** What can happen; in the order of enum rdma_cm_event_type. */
    public enum Type {
        ADDRESS_RESOLVED,
        ADDRESS_ERROR,
        ROUTE_RESOLVED,
        ROUTE_ERROR,
        CONNECT_REQUEST,
        CONNECT_RESPONSE,
        CONNECT_ERROR,
        UNREACHABLE,
        REJECTED,
        ESTABLISHED,
        DISCONNECTED,
        DEVICE_REMOVAL,
        MULTICAST_JOIN,
        MULTICAST_ERROR,
        ADDRESS_CHANGE,
        TIMEWAIT_EXIT,
        UNKNOWN;

        private static final Type[] BY_NUMBER = values();

        static Type of(int number) {
            return number >= 0 && number <= CmConstants.RDMA_CM_EVENT_TIMEWAIT_EXIT ? BY_NUMBER[number] : UNKNOWN;
        }
    }

    /** Returns the event with what its status means, for messages. */
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
