// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import java.io.Serializable;
import java.util.List;

/**
 * Path of one executor to another, with its speed.
 *
 * @param reader its id
 * @param owner id of the one whose memory is read
 * @param path {@code in-place}, {@code shm}, {@code verbs}, {@code tcp} or {@code netty}
 * @param best whether this is the best possible path between the two hosts
 * @param micros median of a read of some bytes; 0 if none was made
 * @param bytesPerSecond of one read after another; 0 if none was made
 * @param reason reason why the path is not better, or why reads failed; may be empty for the best path
 */
record PairReport(
        String reader, String owner, String path, boolean best, double micros, double bytesPerSecond, String reason)
        implements Serializable {
    private static final long serialVersionUID = 1L;

    static final String IN_PLACE = "in-place";
    static final String SHM = "shm";
    static final String VERBS = "verbs";
    static final String TCP = "tcp";
    static final String NETTY = "netty";

    /**
     * Returns a pair whose best path follows from whether both are on one host, as far as their addresses tell: pods of
     * one host have several, and may read in place.
     *
     * @param wanted the best path to be expected between hosts
     */
    static PairReport of(
            String reader,
            String owner,
            boolean oneHost,
            String wanted,
            String path,
            double micros,
            double rate,
            String reason) {
        boolean best = reason.isEmpty()
                && (path.equals(IN_PLACE) || (!oneHost && List.of(VERBS, wanted).contains(path)));
        return new PairReport(reader, owner, path, best, micros, rate, reason);
    }

    /** Returns this pair with a reason, if it has none of its own and needs one. */
    PairReport withReason(String other) {
        return best || !reason.isEmpty()
                ? this
                : new PairReport(reader, owner, path, false, micros, bytesPerSecond, other);
    }
}
