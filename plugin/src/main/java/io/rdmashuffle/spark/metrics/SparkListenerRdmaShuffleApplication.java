// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * What is known of the shuffle of an application when its first shuffle is registered. Spark writes it into the event
 * log under the name of this class; a Spark without this jar drops it when it reads the log.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param info the application and its settings
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record SparkListenerRdmaShuffleApplication(
        @JsonProperty(required = true) ApplicationInfo info) implements SparkListenerEvent {}
