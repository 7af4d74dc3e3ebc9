// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.VerbsConstants;

/**
 * Asynchronous event of a device, a port or a queue.
 *
 * <p><b>Source:</b> ibv_get_async_event(3).
 *
 * @param type type of the event
 * @param description the text of ibv_event_type_str(3)
 * @param element native address of the affected queue; compare with {@link #isAbout}
 * @param portNumber the affected port; meaningless for queues
 */
public record AsyncEvent(Type type, String description, long element, int portNumber) {
    /** Types of events, as far as callers act on them. */
    public enum Type {
        /** A queue pair went into error without a completion of its own. */
        QUEUE_PAIR_FATAL,
        /**
         * A queue pair in error consumes no further receives of its shared queue, and may be destroyed. Not all devices
         * send it.
         */
        LAST_WQE_REACHED,
        /** A shared receive queue failed; no queue pair gets receives from it any more. */
        SHARED_RECEIVE_QUEUE_ERROR,
        /** A completion queue overflowed; what uses it is lost. */
        COMPLETION_QUEUE_ERROR,
        /** A port came up. */
        PORT_ACTIVE,
        /** A port went down; its connections fail once their retries are used up. */
        PORT_DOWN,
        /** Addresses of a port changed. */
        GID_CHANGED,
        /** The device failed; nothing on it works any longer. */
        DEVICE_FATAL,
        /** Anything else. */
        OTHER;

        static Type of(int type) {
            return switch (type) {
                case VerbsConstants.IBV_EVENT_QP_FATAL,
                        VerbsConstants.IBV_EVENT_QP_REQ_ERR,
                        VerbsConstants.IBV_EVENT_QP_ACCESS_ERR -> QUEUE_PAIR_FATAL;
                case VerbsConstants.IBV_EVENT_QP_LAST_WQE_REACHED -> LAST_WQE_REACHED;
                case VerbsConstants.IBV_EVENT_SRQ_ERR -> SHARED_RECEIVE_QUEUE_ERROR;
                case VerbsConstants.IBV_EVENT_CQ_ERR -> COMPLETION_QUEUE_ERROR;
                case VerbsConstants.IBV_EVENT_PORT_ACTIVE -> PORT_ACTIVE;
                case VerbsConstants.IBV_EVENT_PORT_ERR -> PORT_DOWN;
                case VerbsConstants.IBV_EVENT_GID_CHANGE -> GID_CHANGED;
                case VerbsConstants.IBV_EVENT_DEVICE_FATAL -> DEVICE_FATAL;
                default -> OTHER;
            };
        }
    }

    /**
     * {@return whether the event is about this queue}
     *
     * @param queue a queue pair, completion queue or shared receive queue
     */
    public boolean isAbout(NativeResource queue) {
        return queue.handle() == element;
    }
}
