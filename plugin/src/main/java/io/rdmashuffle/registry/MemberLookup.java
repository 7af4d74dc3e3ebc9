// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.Optional;

/**
 * Lookup of members' addresses.
 *
 * <p><b>Threading:</b> safe.
 */
@FunctionalInterface
public interface MemberLookup {
    /** Finds a member by executor id, within a deadline of its own. */
    Optional<Member> lookup(String executorId);

    /** Returns about how many members there are, this one included; takes no lock. */
    default int count() {
        return 1;
    }

    /** Invalidates this result, which did not work: the next lookup asks again. Returns at once. */
    default void recheck(String executorId) {}
}
