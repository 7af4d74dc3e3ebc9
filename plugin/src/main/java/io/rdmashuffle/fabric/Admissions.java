// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.nio.ByteBuffer;
import java.util.LinkedHashSet;

/**
 * Revoked processes, and connection requests that were seen: what outlives the acceptor of a rail whose device is lost,
 * and holds for all rails.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class Admissions {
    /** Number of later requests for which a request is remembered, and refused when it is replayed. */
    private static final int REMEMBERED_NONCES = 1 << 16;

    /** As the registry remembers them; an executor comes and goes a few times an hour at most. */
    public static final int REMEMBERED_REVOKED = 1 << 13;

    private final LinkedHashSet<ByteBuffer> nonces = new LinkedHashSet<>();
    /** Processes that have left the membership, by fabric id. */
    private final LinkedHashSet<Long> revoked = new LinkedHashSet<>();

    /** Records a request; returns whether it is new. */
    public synchronized boolean isFirst(ByteBuffer nonce) {
        if (nonces.size() == REMEMBERED_NONCES) {
            nonces.remove(nonces.iterator().next());
        }
        return nonces.add(nonce);
    }

    /** Refuses the requests of a process until it is admitted. */
    public synchronized void revoke(long fabricId) {
        revoked.remove(fabricId);
        if (revoked.size() == REMEMBERED_REVOKED) {
            revoked.remove(revoked.iterator().next());
        }
        revoked.add(fabricId);
    }

    /** Takes the requests of a process again that was revoked. */
    public synchronized void admit(long fabricId) {
        revoked.remove(fabricId);
    }

    public synchronized boolean isRevoked(long fabricId) {
        return revoked.contains(fabricId);
    }
}
