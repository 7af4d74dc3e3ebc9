// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import java.util.Map;
import org.apache.spark.memory.SparkOutOfMemoryError;

/**
 * Failed allocation of an array whose length depends on the data. The JVM's own error would end the executor, although
 * there is memory for everything else; Spark's fails the task.
 */
public final class HeapShortage {
    private HeapShortage() {}

    /** Returns Spark's error for an array of {@code bytes} that the heap has no room for. */
    public static SparkOutOfMemoryError ofTask(long bytes, OutOfMemoryError cause) {
        SparkOutOfMemoryError ofTask = new SparkOutOfMemoryError(
                "UNABLE_TO_ACQUIRE_MEMORY", Map.of("requestedBytes", Long.toString(bytes), "receivedBytes", "0"));
        ofTask.initCause(cause);
        return ofTask;
    }
}
