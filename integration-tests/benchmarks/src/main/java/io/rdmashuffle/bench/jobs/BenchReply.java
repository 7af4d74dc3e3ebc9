// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import org.jspecify.annotations.Nullable;

/**
 * Reply of a {@link BenchServer}.
 *
 * @param measurement of a job; null after anything else
 * @param error why it failed, or empty
 */
record BenchReply(@Nullable Measurement measurement, String error) {
    static final BenchReply DONE = new BenchReply(null, "");

    static BenchReply failed(String error) {
        return new BenchReply(null, error);
    }
}
