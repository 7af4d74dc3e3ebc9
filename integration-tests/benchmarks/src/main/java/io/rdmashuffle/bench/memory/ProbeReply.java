// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

/**
 * Reply of a {@link ProbeServer}.
 *
 * @param completed whether the job came to its end
 * @param millis how long the application took, its start included
 * @param failure what Spark said if not, in one line; else empty
 */
record ProbeReply(boolean completed, long millis, String failure) {
    /** Announces that a server is ready. */
    static final ProbeReply READY = new ProbeReply(true, 0, "");
}
