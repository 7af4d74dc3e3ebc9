// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

/** Something with timeouts, which the progress thread drives until it is over. */
interface Timed {
    /**
     * Executes due work; on the progress thread.
     *
     * @param now by the progress thread's clock
     * @return time of the next call at the latest, {@link Operation#NEVER} if only events matter
     */
    long tick(long now);

    /** Begins to end for this reason, unless it already does; on the progress thread. */
    void fail(Throwable reason);

    /** Ends at once, since the progress thread itself is ending for this reason. */
    void abort(Throwable reason);
}
