// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import io.rdmashuffle.bench.membership.Endpoint.Totals;
import io.rdmashuffle.bench.membership.MembershipCluster.Snapshots;

/**
 * Results of one scenario.
 *
 * @param scenario its name
 * @param executors number at the end
 * @param changes joins and removals
 * @param memberBytes of one executor's entry in a message
 * @param driver what the driver sent and received
 * @param mostMessages sent and received by any one executor
 * @param mostBytes sent and received by any one executor, not necessarily that one
 * @param snapshots counts of requests
 * @param seconds from the last change until every executor knew every other
 * @param goalSeconds goal for these seconds
 */
record MembershipFigures(
        String scenario,
        int executors,
        int changes,
        long memberBytes,
        Totals driver,
        long mostMessages,
        long mostBytes,
        Snapshots snapshots,
        double seconds,
        double goalSeconds) {
    /** Most messages in one direction, and most members' worth of bytes: n log n of the changes. */
    long goal() {
        return Math.round(changes * Math.max(1, Math.log(changes) / Math.log(2)));
    }
}
