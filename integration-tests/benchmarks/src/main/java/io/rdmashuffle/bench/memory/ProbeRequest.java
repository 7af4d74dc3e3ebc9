// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import java.util.Map;

/**
 * Request to a {@link ProbeServer}: run a job once, in an application of its own.
 *
 * @param job what to run
 * @param rows how large it is
 * @param limitSeconds what takes longer, from the application's start, has failed
 * @param conf Spark's configuration
 */
record ProbeRequest(MemoryJob job, long rows, int limitSeconds, Map<String, String> conf) {
    ProbeRequest {
        conf = Map.copyOf(conf);
    }
}
