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
