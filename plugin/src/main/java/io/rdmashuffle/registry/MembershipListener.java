// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import org.jspecify.annotations.Nullable;

/**
 * Listener of changes in an executor's view of the membership, so that fabrics drop resources of a peer.
 *
 * <p><b>Threading:</b> one call at a time, in the order of the changes, on whatever thread brought one; must not block.
 */
@FunctionalInterface
public interface MembershipListener {
    /**
     * Handles a change of one executor id.
     *
     * @param before the member that was in the view; null if there was none
     * @param after the member that is in the view now, of another incarnation or with other addresses; null if it is
     *     gone
     */
    void changed(@Nullable Member before, @Nullable Member after);
}
