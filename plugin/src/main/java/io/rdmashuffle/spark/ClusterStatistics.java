// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;

/**
 * The counters of every executor that answered, taken at one moment.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param byExecutor counters by executor id; executors that are gone or did not answer in time are missing
 * @param registryMessages messages that the driver's registry received since it started
 */
public record ClusterStatistics(Map<String, Map<ShuffleCounter, Long>> byExecutor, long registryMessages) {
    public ClusterStatistics {
        byExecutor = Map.copyOf(byExecutor);
    }

    /** Returns the sum of one counter over all executors. */
    public long total(ShuffleCounter counter) {
        return byExecutor.values().stream()
                .mapToLong(counters -> counters.getOrDefault(counter, 0L))
                .sum();
    }
}
