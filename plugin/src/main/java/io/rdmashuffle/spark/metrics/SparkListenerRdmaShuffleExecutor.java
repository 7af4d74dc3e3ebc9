// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Event with an executor's report, or with its last one when it was lost. Spark writes it to the event log under the
 * name of this class; a Spark without this jar skips it.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param report of one executor
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record SparkListenerRdmaShuffleExecutor(
        @JsonProperty(required = true) ExecutorReport report) implements SparkListenerEvent {}
