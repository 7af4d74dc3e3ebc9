// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * What an executor has reported, or what was known of it when it was lost. Spark writes it into the event log under
 * the name of this class; a Spark without this jar drops it when it reads the log.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param report of one executor
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record SparkListenerRdmaShuffleExecutor(
        @JsonProperty(required = true) ExecutorReport report) implements SparkListenerEvent {}
