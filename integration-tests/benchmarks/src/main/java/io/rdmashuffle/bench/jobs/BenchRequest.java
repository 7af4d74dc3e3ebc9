// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import org.jspecify.annotations.Nullable;

/**
 * Request to a {@link BenchServer}.
 *
 * @param job to run and measure; null asks to drop the shuffles of the jobs so far
 */
record BenchRequest(@Nullable BenchJob job) {
    static final BenchRequest DRAIN = new BenchRequest(null);
}
