// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A bounded memory of incarnations that are over, so that an announcement that comes late does not revive them.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryServer} guards it.
 */
final class RetiredMembers {
    private final int capacity;
    private final Set<Retired> retired = new LinkedHashSet<>();

    /** Without an incarnation: the executor left before it announced itself, so whatever it says is late. */
    private record Retired(String executorId, @Nullable UUID incarnation) {}

    /** The oldest is forgotten when there are more than {@code capacity}. */
    RetiredMembers(int capacity) {
        this.capacity = capacity;
    }

    void add(String executorId, @Nullable UUID incarnation) {
        retired.add(new Retired(executorId, incarnation));
        if (retired.size() > capacity) {
            retired.remove(retired.iterator().next());
        }
    }

    /** Returns whether any incarnation of that executor is remembered. */
    boolean knows(String executorId) {
        return retired.stream().anyMatch(each -> each.executorId().equals(executorId));
    }

    boolean contains(Member member) {
        return retired.contains(new Retired(member.executorId(), member.incarnation()))
                || retired.contains(new Retired(member.executorId(), null));
    }
}
