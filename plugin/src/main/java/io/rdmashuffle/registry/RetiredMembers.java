// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A bounded memory of incarnations that are over, so that an announcement that comes late does not revive them.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryServer} guards it.
 */
final class RetiredMembers {
    private final Map<Retired, Boolean> retired;

    /** Without an incarnation: the executor left before it announced itself, so whatever it says is late. */
    private record Retired(String executorId, @Nullable UUID incarnation) {}

    /** The oldest is forgotten when there are more than {@code capacity}. */
    RetiredMembers(int capacity) {
        retired = new LinkedHashMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Retired, Boolean> eldest) {
                return size() > capacity;
            }
        };
    }

    void add(String executorId, @Nullable UUID incarnation) {
        retired.put(new Retired(executorId, incarnation), true);
    }

    /** Returns whether any incarnation of that executor is remembered. */
    boolean knows(String executorId) {
        return retired.keySet().stream().anyMatch(each -> each.executorId().equals(executorId));
    }

    boolean contains(Member member) {
        return retired.containsKey(new Retired(member.executorId(), member.incarnation()))
                || retired.containsKey(new Retired(member.executorId(), null));
    }
}
