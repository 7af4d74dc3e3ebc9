// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
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
    void oldGapsNeedASnapshot() {
        view.apply(new Snapshot(1, List.of()));
        for (int i = 0; i <= MembershipView.MAX_AHEAD; i++) {
            view.apply(added(3 + i, member("" + i, i)));
        }
        long last = 3 + MembershipView.MAX_AHEAD;
        assertThat(view.needsSnapshot()).isTrue();
        assertThat(view.repairVersion()).isEqualTo(last);
        assertThat(view.isStale()).isTrue();

        view.apply(new Snapshot(last, List.of(member("1", 1))));
        assertThat(view.isStale()).isFalse();
        assertThat(view.members()).containsExactly(member("1", 1));
    }

    /** The driver registers at once and sends later, so an answer of version v may hold a part of v + 1. */
    @Test
    void answerAheadOfItsVersionIsHarmless() {
        List<Consumer<MembershipView>> messages = List.of(
                to -> to.apply(new MembershipUpdate(1, List.of(member("1", 1), member("2", 2)), List.of())),
                to -> to.apply(new MembershipUpdate(2, List.of(member("1", 3)), List.of("2"))),
                to -> to.apply(new MembershipUpdate(3, List.of(member("2", 4)), List.of())),
                to -> to.apply(new Snapshot(1, List.of(member("1", 3), member("self", 1)))),
                to -> to.apply(new LookupReply(1, "1", member("1", 3))),
                to -> to.apply(new LookupReply(2, "2", member("2", 4))));
        for (List<Consumer<MembershipView>> order : orders(messages)) {
            MembershipView each = new MembershipView("self", new MembershipEvents());
            order.forEach(message -> message.accept(each));
            order.forEach(message -> message.accept(each));
            assertThat(each.members()).containsExactlyInAnyOrder(member("1", 3), member("2", 4));
            assertThat(each.isStale()).isFalse();
            assertThat(each.completeVersion()).isEqualTo(3);
        }
    }

    private static <T> List<List<T>> orders(List<T> of) {
        if (of.isEmpty()) {
            return List.of(List.of());
        }
        List<List<T>> orders = new ArrayList<>();
        for (int i = 0; i < of.size(); i++) {
            List<T> others = new ArrayList<>(of);
            T first = others.remove(i);
            for (List<T> order : orders(others)) {
                List<T> whole = new ArrayList<>(List.of(first));
                whole.addAll(order);
                orders.add(whole);
            }
        }
        return orders;
    }

    /** An update that was sent before the answer does not undo what the answer already holds of the next. */
    @Test
    void updateOfAnAnswersVersionDoesNotUndoTheAnswer() {
        view.apply(new LookupReply(1, "1", member("1", 3)));
        view.apply(added(1, member("1", 1)));
        assertThat(view.member("1")).isEqualTo(member("1", 3));
        view.apply(added(2, member("1", 3)));
        view.apply(new LookupReply(2, "1", null));
        view.apply(removed(3, "1"));
        assertThat(view.members()).isEmpty();
    }

    @Test
    void requiredVersionMakesTheViewStale() {
        view.apply(new Snapshot(3, List.of(member("1", 1))));
        view.require(3);
        assertThat(view.isStale()).isFalse();
        view.require(5);
        assertThat(view.needsSnapshot()).isTrue();
        view.apply(added(4, member("2", 2)));
        assertThat(view.needsSnapshot()).isTrue();
        view.apply(added(5, member("3", 3)));
        assertThat(view.isStale()).as("the updates were only late").isFalse();

        view.require(9);
        view.apply(added(10, member("4", 4)));
        assertThat(view.repairVersion()).isEqualTo(9);
        view.apply(new Snapshot(8, List.of(member("1", 1))));
        assertThat(view.needsSnapshot()).isTrue();
        view.apply(new Snapshot(9, List.of(member("1", 1))));
        assertThat(view.isStale()).isFalse();
        assertThat(view.members()).containsExactlyInAnyOrder(member("1", 1), member("4", 4));
    }
}
