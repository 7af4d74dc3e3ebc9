// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

/**
 * What the reads of a channel need of it to find the peer's regions.
 *
 * <p><b>Threading:</b> the data thread.
 */
interface RegionQueries {
    /** Posts a query about the peer's regions. */
    void queryRegions(Connection on);

    /** Fails a read that reaches outside of what the peer has. */
    void refuse(PendingRead read);
}
