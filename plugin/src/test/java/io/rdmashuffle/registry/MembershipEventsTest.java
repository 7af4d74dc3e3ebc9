// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that listeners receive every change, whatever another one does. */
@Tag("unit")
class MembershipEventsTest {
    private final MembershipEvents events = new MembershipEvents();

    @Test
    void aListenerThatFailsKeepsNoneFromHearing() {
        List<String> told = new ArrayList<>();
        events.addListener((before, after) -> {
            if (after == null) {
                throw new IllegalStateException("on purpose");
            }
            throw new OutOfMemoryError("on purpose");
        });
        events.addListener((before, after) -> {
            if (after != null) {
                told.add("+" + after.executorId());
            } else if (before != null) {
                told.add("-" + before.executorId());
            }
        });
        events.add(null, member("1", 1));
        events.add(null, member("2", 2));
        events.deliver();
        events.add(member("1", 1), null);
        events.deliver();
        assertThat(told).containsExactly("+1", "+2", "-1");
    }
}
