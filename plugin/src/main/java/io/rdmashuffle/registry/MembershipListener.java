// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/**
 * Hears of the changes in an executor's view of the membership, so that fabrics drop what they hold of a peer.
 *
 * <p><b>Threading:</b> one call at a time, in the order of the changes, on whatever thread brought one; must not block.
 */
public interface MembershipListener {
    /** A peer that was not in the view. */
    default void memberAdded(Member member) {}

    /** The same executor id with another incarnation or other addresses. */
    default void memberReplaced(Member before, Member after) {}

    /** A peer that is gone. */
    default void memberRemoved(Member member) {}
}
