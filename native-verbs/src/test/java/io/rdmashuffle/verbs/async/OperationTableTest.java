// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Slots, deadlines and the work request ids that lead back to them. */
@Tag("unit")
@Timeout(60)
class OperationTableTest {
    private final OperationTable table = new OperationTable("operations", 3);

    private static Operation<Integer> operation(long timeoutNanos) {
        Operation<Integer> operation =
                new Operation<>("READ", List.of(), timeoutNanos, (completions, index, slot) -> slot);
        operation.start(1000);
        return operation;
    }

    @Test
    void fullTableRefusesAndATakenSlotIsFreeAgain() {
        int first = table.put(operation(Operation.NEVER));
        Operation<Integer> second = operation(Operation.NEVER);
        int slot = table.put(second);
        table.put(operation(Operation.NEVER));
        assertThatThrownBy(() -> table.put(operation(Operation.NEVER)))
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
        Operation<Integer> early = operation(10);
        Operation<Integer> late = operation(20);
        Operation<Integer> never = operation(Operation.NEVER);
        table.put(early);
        table.put(late);
        table.put(never);
        assertThat(table.nearestDeadline()).isEqualTo(1010);
        assertThat(table.markOverdue(1009)).isNull();
        assertThat(table.markOverdue(1010)).isSameAs(early);
        assertThat(late.wasOverdue()).isFalse();
        assertThat(table.markOverdue(1020)).isNotNull();
        assertThat(late.wasOverdue()).isTrue();
        assertThat(early.wasOverdue()).isTrue();
        assertThat(never.wasOverdue()).isFalse();
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
