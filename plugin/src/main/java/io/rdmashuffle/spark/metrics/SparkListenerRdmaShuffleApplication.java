// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * What is known of the shuffle of an application when its first shuffle is registered. Spark writes it into the event
 * log under the name of this class; a Spark without this jar drops it when it reads the log.
 *
 * <p><b>Threading:</b> immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public final class SparkListenerRdmaShuffleApplication implements SparkListenerEvent {
    private final ApplicationInfo info;

    /** Wraps it. */
    @JsonCreator
    public SparkListenerRdmaShuffleApplication(@JsonProperty(value = "info", required = true) ApplicationInfo info) {
        this.info = info;
    }

    /** Returns what it says. */
    @JsonProperty("info")
    public ApplicationInfo info() {
        return info;
    }
}
