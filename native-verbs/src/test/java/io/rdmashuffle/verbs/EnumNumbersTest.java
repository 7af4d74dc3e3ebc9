// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.VerbsConstants;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The enums that are looked up by C's number have the numbers that C has. */
@Tag("unit")
@Timeout(60)
class EnumNumbersTest {
    @Test
    void completionStatus() throws Exception {
        Map<Integer, String> numbers = numbers(VerbsConstants.class, "IBV_WC_", "_ERR");
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_SUCCESS)).isEqualTo(CompletionStatus.SUCCESS);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_LOC_LEN_ERR))
                .isEqualTo(CompletionStatus.LOCAL_LENGTH_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_LOC_PROT_ERR))
                .isEqualTo(CompletionStatus.LOCAL_PROTECTION_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_WR_FLUSH_ERR))
                .isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_MW_BIND_ERR))
                .isEqualTo(CompletionStatus.MEMORY_WINDOW_BIND_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_REM_INV_REQ_ERR))
                .isEqualTo(CompletionStatus.REMOTE_INVALID_REQUEST);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_REM_ACCESS_ERR))
                .isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_REM_OP_ERR))
                .isEqualTo(CompletionStatus.REMOTE_OPERATION_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_RETRY_EXC_ERR)).isEqualTo(CompletionStatus.RETRY_EXCEEDED);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_RNR_RETRY_EXC_ERR))
                .isEqualTo(CompletionStatus.RNR_RETRY_EXCEEDED);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_FATAL_ERR)).isEqualTo(CompletionStatus.FATAL);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_GENERAL_ERR)).isEqualTo(CompletionStatus.GENERAL_ERROR);
        assertThat(CompletionStatus.of(VerbsConstants.IBV_WC_TM_RNDV_INCOMPLETE))
                .isEqualTo(CompletionStatus.TAG_MATCHING_RENDEZVOUS_INCOMPLETE);
        assertThat(numbers.keySet()).allMatch(number -> CompletionStatus.of(number) != CompletionStatus.UNKNOWN);
        assertThat(CompletionStatus.of(24)).isEqualTo(CompletionStatus.UNKNOWN);
        assertThat(CompletionStatus.of(-1)).isEqualTo(CompletionStatus.UNKNOWN);
    }

    @Test
    void connectionEvents() throws Exception {
        numbers(CmConstants.class, "RDMA_CM_EVENT_", "").forEach((number, name) -> {
            String expected = name.substring("RDMA_CM_EVENT_".length()).replace("ADDR_", "ADDRESS_");
            assertThat(CmEvent.Type.of(number)).hasToString(expected);
        });
        assertThat(CmEvent.Type.of(16)).isEqualTo(CmEvent.Type.UNKNOWN);
        assertThat(CmEvent.Type.of(-1)).isEqualTo(CmEvent.Type.UNKNOWN);
    }

    @Test
    void queuePairStates() {
        assertThat(QueuePair.State.of(VerbsConstants.IBV_QPS_RESET)).isEqualTo(QueuePair.State.RESET);
        assertThat(QueuePair.State.of(VerbsConstants.IBV_QPS_INIT)).isEqualTo(QueuePair.State.INITIALIZED);
        assertThat(QueuePair.State.of(VerbsConstants.IBV_QPS_RTR)).isEqualTo(QueuePair.State.READY_TO_RECEIVE);
        assertThat(QueuePair.State.of(VerbsConstants.IBV_QPS_RTS)).isEqualTo(QueuePair.State.READY_TO_SEND);
        assertThat(QueuePair.State.of(VerbsConstants.IBV_QPS_ERR)).isEqualTo(QueuePair.State.ERROR);
        assertThat(QueuePair.State.of(99)).isEqualTo(QueuePair.State.UNKNOWN);
    }

    @Test
    void accessFlags() {
        assertThat(Access.flags(Set.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ)))
                .isEqualTo(7);
        assertThat(Access.flags(Set.of(Access.REMOTE_ATOMIC, Access.BIND_WINDOW, Access.ON_DEMAND)))
                .isEqualTo(8 | 16 | 64);
        assertThat(Access.flags(Set.of(Access.RELAXED_ORDERING))).isEqualTo(1 << 20);
        assertThat(Access.flags(Set.of())).isZero();
    }

    private static Map<Integer, String> numbers(Class<?> type, String prefix, String suffix) throws Exception {
        Map<Integer, String> numbers = new TreeMap<>();
        for (Field field : type.getFields()) {
            if (field.getName().startsWith(prefix) && field.getName().endsWith(suffix)) {
                numbers.put(field.getInt(null), field.getName());
            }
        }
        assertThat(numbers).isNotEmpty();
        return numbers;
    }
}
