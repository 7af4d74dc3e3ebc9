// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Slots, deadlines and the work request ids that lead back to them. */
@Tag("unit")
@Timeout(60)
class OperationTableTest {
    private final OperationTable table = new OperationTable("operations", 3);

    /** Work for no device. */
    private static final class Nothing extends Work {
        @Override
        void retain() {}

        @Override
        void release() {}

        @Override
        void move(long localOffset, long remoteOffset, int lengthBytes) {}

        @Override
        int lengthBytes() {
            return 0;
        }
    }

    private static Operation operation() {
        return FutureOperation.of(new Nothing());
    }

    private Operation put(long deadline) {
        Operation operation = operation();
        operation.start(table.put(operation), deadline);
        return operation;
    }

    @Test
    void fullTableRefusesAndATakenSlotIsFreeAgain() {
        int first = table.put(operation());
        Operation second = operation();
        int slot = table.put(second);
        table.put(operation());
        assertThatThrownBy(() -> table.put(operation()))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("3 operations outstanding");
        assertThat(table.take(slot)).isSameAs(second);
        assertThat(table.take(slot)).isNull();
        assertThat(table.put(second)).isEqualTo(slot);
        table.take(first);
        assertThat(table.takeAll()).hasSize(2);
        assertThat(table.isEmpty()).isTrue();
    }

    @Test
    void everyOperationPastItsDeadlineIsMarked() {
        Operation early = put(1010);
        Operation late = put(1020);
        Operation never = put(Operation.NEVER);
        assertThat(table.nearestDeadline()).isEqualTo(1010);
        assertThat(table.markOverdue(1009)).isNull();
        assertThat(table.markOverdue(1010)).isSameAs(early);
        assertThat(late.wasOverdue()).isFalse();
        assertThat(table.markOverdue(1020)).isNotNull();
        assertThat(late.wasOverdue()).isTrue();
        assertThat(early.wasOverdue()).isTrue();
        assertThat(never.wasOverdue()).isFalse();
        table.take(early.slot());
        early.start(table.put(early), 2000);
        assertThat(early.wasOverdue()).as("of the posting before").isFalse();
    }

    @Test
    void workRequestIdsLeadBackToConnectionAndSlot() {
        for (int number : new int[] {1, 77, Integer.MAX_VALUE}) {
            for (int slot : new int[] {0, 5, Integer.MIN_VALUE, Integer.MIN_VALUE | 5}) {
                long id = CompletionTarget.workRequestId(number, slot);
                assertThat(CompletionTarget.numberOf(id)).isEqualTo(number);
                assertThat((int) id).isEqualTo(slot);
            }
        }
    }
}
