// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;
import java.util.Set;

/**
 * The counters of every executor that answered, taken at one moment.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param byExecutor counters by executor id
 * @param silent executors that the registry knows and that did not answer in time
 * @param registryMessages messages that the driver's registry received since it started
 */
public record ClusterStatistics(
        Map<String, Map<ShuffleCounter, Long>> byExecutor, Set<String> silent, long registryMessages) {
    public ClusterStatistics {
        byExecutor = Map.copyOf(byExecutor);
        silent = Set.copyOf(silent);
    }

    /** Returns the sum of one counter over all executors. */
    public long total(ShuffleCounter counter) {
        return byExecutor.values().stream()
                .mapToLong(counters -> counters.getOrDefault(counter, 0L))
                .sum();
    }
}
