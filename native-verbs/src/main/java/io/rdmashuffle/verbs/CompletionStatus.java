// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/**
 * Completion status of a work request, with its usual cause.
 *
 * <p><b>Source:</b> ibv_poll_cq(3), enum ibv_wc_status, in its order.
 */
public enum CompletionStatus {
    /** {@code IBV_WC_SUCCESS}. */
    SUCCESS(""),
    /** {@code IBV_WC_LOC_LEN_ERR}. */
    LOCAL_LENGTH_ERROR("the receive buffer is shorter than the message, or the message longer than the port allows"),
    /** {@code IBV_WC_LOC_QP_OP_ERR}. */
    LOCAL_QP_OPERATION_ERROR("the request itself is malformed"),
    /** {@code IBV_WC_LOC_EEC_OP_ERR}. */
    LOCAL_EEC_OPERATION_ERROR(""),
    /** {@code IBV_WC_LOC_PROT_ERR}. */
    LOCAL_PROTECTION_ERROR("a local buffer is not inside a region of that lkey, or the region lacks LOCAL_WRITE"),
    /** {@code IBV_WC_WR_FLUSH_ERR}. */
    WORK_REQUEST_FLUSHED(
            "the queue pair was in error or being closed; see the first failure on it; on iWARP there may be"
                    + " none: the peer has closed, or its device refused a request"),
    /** {@code IBV_WC_MW_BIND_ERR}. */
    MEMORY_WINDOW_BIND_ERROR("the region under the window lacks BIND_WINDOW, or the range lies outside it"),
    /** {@code IBV_WC_BAD_RESP_ERR}. */
    BAD_RESPONSE("the peer answered with something unexpected"),
    /** {@code IBV_WC_LOC_ACCESS_ERR}. */
    LOCAL_ACCESS_ERROR("a local buffer may not be written"),
    /** {@code IBV_WC_REM_INV_REQ_ERR}. */
    REMOTE_INVALID_REQUEST("the peer's queue pair does not allow this operation or length"),
    /** {@code IBV_WC_REM_ACCESS_ERR}. */
    REMOTE_ACCESS_ERROR("the peer's region is not registered under that rkey, is shorter, or lacks the right"),
    /** {@code IBV_WC_REM_OP_ERR}. */
    REMOTE_OPERATION_ERROR("the peer's device could not complete the operation"),
    /** {@code IBV_WC_RETRY_EXC_ERR}. */
    RETRY_EXCEEDED("the peer did not answer: its process or link is gone, or the acknowledgement timeout is too short"),
    /** {@code IBV_WC_RNR_RETRY_EXC_ERR}. */
    RNR_RETRY_EXCEEDED("the peer had no receive buffer posted"),
    /** {@code IBV_WC_LOC_RDD_VIOL_ERR}. */
    LOCAL_RDD_VIOLATION(""),
    /** {@code IBV_WC_REM_INV_RD_REQ_ERR}. */
    REMOTE_INVALID_RDD_REQUEST(""),
    /** {@code IBV_WC_REM_ABORT_ERR}. */
    REMOTE_ABORTED("the peer aborted the operation"),
    /** {@code IBV_WC_INV_EECN_ERR}. */
    INVALID_EE_CONTEXT_NUMBER(""),
    /** {@code IBV_WC_INV_EEC_STATE_ERR}. */
    INVALID_EE_CONTEXT_STATE(""),
    /** {@code IBV_WC_FATAL_ERR}. */
    FATAL("the device failed; see the kernel's log"),
    /** {@code IBV_WC_RESP_TIMEOUT_ERR}; also an operation of {@code verbs.async} past its timeout. */
    RESPONSE_TIMEOUT("the peer did not answer in time"),
    /** {@code IBV_WC_GENERAL_ERR}. */
    GENERAL_ERROR("the transport reported an error"),
    /** {@code IBV_WC_TM_ERR}. */
    TAG_MATCHING_ERROR(""),
    /** {@code IBV_WC_TM_RNDV_INCOMPLETE}. */
    TAG_MATCHING_RENDEZVOUS_INCOMPLETE(""),
    /** A number that this library does not know. */
    UNKNOWN("a status that this library does not know");

    private static final CompletionStatus[] BY_NUMBER = values();

    private final String advice;

    CompletionStatus(String advice) {
        this.advice = advice;
    }

    /** {@return what this status usually means; empty if the name says it all} */
    public String advice() {
        return advice;
    }

    static CompletionStatus of(int number) {
        return number >= 0 && number < BY_NUMBER.length - 1 ? BY_NUMBER[number] : UNKNOWN;
    }
}
