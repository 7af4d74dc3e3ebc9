// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.Optional;

/**
 * Knows where members can be reached.
 *
 * <p><b>Threading:</b> safe.
 */
@FunctionalInterface
public interface MemberLookup {
    /** Finds a member by executor id, within a deadline of its own. */
    Optional<Member> lookup(String executorId);

    /** Has the next lookup ask again, since what this one told did not work; returns at once. */
    default void recheck(String executorId) {}
}
