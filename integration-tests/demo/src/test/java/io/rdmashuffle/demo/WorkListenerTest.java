// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class WorkListenerTest {
    private final WorkListener listener = new WorkListener();

    @Test
    void tasksOfStagesThatReadAShuffleAreReduceTasks() {
        listener.stageSubmitted(0, List.of(), 7);
        assertThat(listener.reduceTasks()).isZero();
        listener.stageSubmitted(0, List.of(3), 5);
        listener.stageSubmitted(1, List.of(3), 2);
        assertThat(listener.reduceTasks()).isEqualTo(5);
    }
}
