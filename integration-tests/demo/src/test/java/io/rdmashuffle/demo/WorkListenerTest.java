// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Properties;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

@Tag("unit")
class WorkListenerTest {
    private final WorkListener listener = new WorkListener();

    @SuppressWarnings("unchecked") // An empty list is one of anything.
    private static <T> Seq<T> none() {
        return (Seq<T>) (Seq<?>) Nil$.MODULE$;
    }

    @SuppressWarnings("unchecked") // Scala's numbers are objects to Java.
    private static Seq<Object> parent() {
        return (Seq<Object>)
                (scala.collection.Seq<?>) WorkListenerTest.<Object>none().appended(3);
    }

    private void submitted(int attempt, int tasks, Seq<Object> parents) {
        listener.onStageSubmitted(new SparkListenerStageSubmitted(
                new StageInfo(
                        1,
                        attempt,
                        "",
                        tasks,
                        none(),
                        parents,
                        "",
                        new TaskMetrics(),
                        none(),
                        Option.empty(),
                        0,
                        false,
                        0),
                new Properties()));
    }

    @Test
    void tasksOfStagesThatReadAShuffleAreReduceTasks() {
        submitted(0, 7, none());
        assertThat(listener.reduceTasks()).isZero();
        Seq<Object> parents = parent();
        submitted(0, 5, parents);
        submitted(1, 2, parents);
        assertThat(listener.reduceTasks()).isEqualTo(5);
    }
}
