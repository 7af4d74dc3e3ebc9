package io.rdmashuffle.verbs;

/**
 * How a work request ended, with what that usually means.
 *
 * <p><b>Source:</b> ibv_poll_cq(3), enum ibv_wc_status, in its order.
 */
public enum CompletionStatus {
    SUCCESS(""),
    LOCAL_LENGTH_ERROR("the receive buffer is shorter than the message, or the message longer than the port allows"),
    LOCAL_QP_OPERATION_ERROR("the request itself is malformed"),
    LOCAL_EEC_OPERATION_ERROR(""),
    LOCAL_PROTECTION_ERROR("a local buffer is not inside a region of that lkey, or the region lacks LOCAL_WRITE"),
    WORK_REQUEST_FLUSHED("the queue pair was in error or being closed; the first failure on it tells why"),
    MEMORY_WINDOW_BIND_ERROR("the region under the window lacks BIND_WINDOW, or the range lies outside it"),
    BAD_RESPONSE("the peer answered with something unexpected"),
    LOCAL_ACCESS_ERROR("a local buffer may not be written"),
    REMOTE_INVALID_REQUEST("the peer's queue pair does not allow this operation or length"),
    REMOTE_ACCESS_ERROR("the peer's region is not registered under that rkey, is shorter, or lacks the right"),
    REMOTE_OPERATION_ERROR("the peer's device could not complete the operation"),
    RETRY_EXCEEDED("the peer did not answer: its process or link is gone, or the acknowledgement timeout is too short"),
    RNR_RETRY_EXCEEDED("the peer had no receive buffer posted"),
    LOCAL_RDD_VIOLATION(""),
    REMOTE_INVALID_RDD_REQUEST(""),
    REMOTE_ABORTED("the peer aborted the operation"),
    INVALID_EE_CONTEXT_NUMBER(""),
    INVALID_EE_CONTEXT_STATE(""),
    FATAL("the device failed; see the kernel's log"),
    RESPONSE_TIMEOUT("the peer did not answer in time"),
    GENERAL_ERROR("the transport reported an error"),
    TAG_MATCHING_ERROR(""),
    TAG_MATCHING_RENDEZVOUS_INCOMPLETE(""),
    UNKNOWN("a status that this library does not know");

    private static final CompletionStatus[] BY_NUMBER = values();

    private final String advice;

    CompletionStatus(String advice) {
        this.advice = advice;
    }

    /** Returns what this status usually means; empty if there is nothing to say. */
    public String advice() {
        return advice;
    }

    static CompletionStatus of(int number) {
        return number >= 0 && number < BY_NUMBER.length - 1 ? BY_NUMBER[number] : UNKNOWN;
    }
}
