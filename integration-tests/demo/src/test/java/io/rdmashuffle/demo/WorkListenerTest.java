// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.spark.FetchFailed;
import org.apache.spark.Success$;
import org.apache.spark.TaskResultLost$;
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

    @Test
    void executorsCountFromTheirFirstMomentToTheirLast() {
        listener.executorCame("1", 1_000);
        listener.executorCame("2", 3_000);
        assertThat(listener.executorMillis(5_000)).isEqualTo(4_000 + 2_000);
        listener.executorWent("1", 6_000);
        listener.executorWent("9", 6_000);
        assertThat(listener.executorMillis(10_000)).isEqualTo(5_000 + 7_000);
    }

    @Test
    void mapTasksThatEndWellOnceMoreRanAgain() {
        listener.taskEnded(Success$.MODULE$, 7, 0);
        listener.taskEnded(Success$.MODULE$, 7, 1);
        listener.taskEnded(Success$.MODULE$, 8, 0);
        listener.taskEnded(Success$.MODULE$, null, 0);
        listener.taskEnded(Success$.MODULE$, null, 0);
        listener.taskEnded(TaskResultLost$.MODULE$, 7, 0);
        assertThat(listener.mapTasksAgain()).isZero();
        listener.taskEnded(Success$.MODULE$, 7, 1);
        assertThat(listener.mapTasksAgain()).isOne();
        assertThat(listener.failedReads()).isZero();
        listener.taskEnded(new FetchFailed(null, 7, 0, 0, 0, "gone"), null, 0);
        assertThat(listener.failedReads()).isOne();
    }
}
