// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class MembershipViewTest {
    private final MembershipView view = new MembershipView("self", new MembershipEvents());

    private static MembershipUpdate added(long version, Member member) {
        return new MembershipUpdate(version, List.of(member), List.of());
    }

    private static MembershipUpdate removed(long version, String executorId) {
        return new MembershipUpdate(version, List.of(), List.of(executorId));
    }

    @Test
    void pushThatOvertakesTheSnapshotIsKept() {
        view.apply(added(6, member("2", 2)));
        view.apply(removed(7, "3"));
        assertThat(view.isStale()).isTrue();

        view.apply(new Snapshot(5, List.of(member("1", 1), member("3", 3), member("self", 1))));

        assertThat(view.members()).containsExactlyInAnyOrder(member("1", 1), member("2", 2));
        assertThat(view.isStale()).isFalse();
        assertThat(view.completeVersion()).isEqualTo(7);
    }

    @Test
    void lateAnswersDoNotReviveTheRemoved() {
        view.apply(new Snapshot(5, List.of(member("1", 1))));
        view.apply(removed(6, "1"));

        view.apply(new LookupReply(5, "1", member("1", 1)));
        view.apply(new Snapshot(5, List.of(member("1", 1))));

        assertThat(view.members()).isEmpty();
    }

    @Test
    void answerThatOvertakesAPushWins() {
        view.apply(new Snapshot(5, List.of(member("1", 1))));
        view.apply(new LookupReply(8, "1", member("1", 3)));
        view.apply(new LookupReply(8, "2", null));
        view.apply(removed(6, "1"));
        view.apply(added(7, member("2", 2)));
        view.apply(added(8, member("1", 3)));

        assertThat(view.members()).containsExactly(member("1", 3));
        assertThat(view.completeVersion()).isEqualTo(8);
    }

    @Test
    void gapsAreGivenUpAfterAWhileAndOnlyASnapshotRepairsThem() {
        view.apply(new Snapshot(1, List.of()));
        for (int i = 0; i <= MembershipView.MAX_AHEAD; i++) {
            view.apply(added(3 + i, member("" + i, i)));
        }
        long last = 3 + MembershipView.MAX_AHEAD;
        assertThat(view.completeVersion()).isEqualTo(last);
        assertThat(view.isStale()).isTrue();

        view.apply(new Snapshot(last, List.of(member("1", 1))));
        assertThat(view.isStale()).isFalse();
        assertThat(view.members()).containsExactly(member("1", 1));
    }
}
