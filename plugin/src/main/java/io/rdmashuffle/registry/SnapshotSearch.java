// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks peers for a snapshot, one after the other, and the driver if none of them can be reached.
 *
 * <p><b>Threading:</b> stateless; waits on the calling thread, no longer than one question to the driver may take for
 * all peers together, and as long again for the driver.
 */
final class SnapshotSearch {
    private static final Logger LOG = LoggerFactory.getLogger(SnapshotSearch.class);

    private final PeerChannel peers;
    private final DriverLink driver;

    /**
     * What came of it.
     *
     * @param snapshot null if there was none
     * @param fromDriver whether the driver was asked
     */
    record Found(@Nullable Snapshot snapshot, boolean fromDriver) {}

    SnapshotSearch(PeerChannel peers, DriverLink driver) {
        this.peers = peers;
        this.driver = driver;
    }

    /** Looks for a snapshot of at least a version. A peer that is there but behind saves the driver the question. */
    Found search(List<Member> sources, long version) {
        boolean behind = false;
        for (Member source : sources) {
            RegistryMessage answer = pull(source, version);
            if (answer instanceof Snapshot snapshot && snapshot.version() >= version) {
                return new Found(snapshot, false);
            }
            behind |= answer instanceof SnapshotBehind;
        }
        if (behind) {
            return new Found(null, false);
        }
        return new Found(driver.ask(new SnapshotRequest()) instanceof Snapshot snapshot ? snapshot : null, true);
    }

    private @Nullable RegistryMessage pull(Member source, long version) {
        try {
            return peers.pull(source, version, driver.timeout().dividedBy(SnapshotSources.PEERS));
        } catch (RegistryUnavailableException | RuntimeException e) {
            LOG.debug("{} did not answer with version {} of the membership", source, version, e);
            return null;
        }
    }
}
