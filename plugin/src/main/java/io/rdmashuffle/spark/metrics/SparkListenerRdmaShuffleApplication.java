// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Event with the properties of an application's shuffle, posted when the first shuffle is registered. Spark writes it
 * to the event log under the name of this class; a Spark without this jar skips it.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param info the application and its settings
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record SparkListenerRdmaShuffleApplication(
        @JsonProperty(required = true) ApplicationInfo info) implements SparkListenerEvent {}
