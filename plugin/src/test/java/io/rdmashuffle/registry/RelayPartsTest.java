// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RelayParts.Part;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RelayPartsTest {
    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final Map<String, Integer> reached = new HashMap<>();

    @Test
    void everyMemberIsReachedOnceWhateverTheMembersAre() {
        System.out.println("RelayPartsTest.everyMemberIsReachedOnceWhateverTheMembersAre seed " + seed);
        for (int round = 0; round < 300; round++) {
            reached.clear();
            MemberTable table = randomMembers(1 + random.nextInt(round < 290 ? 200 : 5_000));
            int depth = spread(table, HashRange.ALL, null);

            Set<String> ids = table.all().stream().map(Member::executorId).collect(Collectors.toSet());
            assertThat(reached.keySet()).as("seed %d", seed).isEqualTo(ids);
            assertThat(reached.values()).as("seed %d", seed).containsOnly(1);
            assertThat(depth).as("seed %d", seed).isLessThanOrEqualTo(7);
        }
    }

    /** Hands each part to some member of it, which divides it further; returns how long the longest way was. */
    private int spread(MemberTable table, HashRange range, @Nullable Member self) {
        List<Member> known = new ArrayList<>(table.in(range));
        known.remove(self);
        long ownHash = self == null ? RelayParts.NO_HASH : HashRange.hash(self.executorId());
        List<Part> parts = RelayParts.of(range, known, ownHash);
        long distinct = parts.stream().map(Part::range).distinct().count();
        assertThat(distinct).as("seed %d", seed).isLessThanOrEqualTo(RelayParts.MAX_PARTS + 1L);
        int deepest = 0;
        for (Part part : parts) {
            assertThat(part.range().contains(ownHash)
                            && part.range().first() < part.range().last())
                    .as("seed %d", seed)
                    .isFalse();
            Member to = part.members().get(random.nextInt(part.members().size()));
            reached.merge(to.executorId(), 1, Integer::sum);
            int depth = part.range().first() == part.range().last() ? 0 : spread(table, part.range(), to);
            deepest = Math.max(deepest, depth);
        }
        return deepest + 1;
    }

    private MemberTable randomMembers(int count) {
        Set<String> ids = new TreeSet<>();
        while (ids.size() < count) {
            ids.add(
                    switch (random.nextInt(4)) {
                        case 0 -> "exec-" + random.nextInt(10_000);
                        // Pairs of equal hash.
                        case 1 -> (random.nextBoolean() ? "Aa" : "BB") + random.nextInt(1_000);
                        default -> "" + random.nextInt(20_000);
                    });
        }
        MemberTable table = new MemberTable();
        table.putAll(ids.stream().map(id -> member(id, 1)).toList());
        return table;
    }

    /** A member that only a later relay knows must lie in the range of one of them. */
    @Test
    void partsLeaveNoGapButTheOwnHash() {
        System.out.println("RelayPartsTest.partsLeaveNoGapButTheOwnHash seed " + seed);
        for (int round = 0; round < 300; round++) {
            MemberTable table = randomMembers(20 + random.nextInt(100));
            Member own = table.at(random.nextInt(table.size()));
            long ownHash = HashRange.hash(own.executorId());
            List<Member> others = new ArrayList<>(table.all());
            others.removeIf(each -> HashRange.hash(each.executorId()) == ownHash);
            List<Part> parts = RelayParts.of(HashRange.ALL, others, ownHash);

            long next = HashRange.hash(others.get(0).executorId()) < ownHash ? 0 : ownHash + 1;
            List<HashRange> ranges = parts.stream()
                    .map(Part::range)
                    .distinct()
                    .sorted(Comparator.comparingLong(HashRange::first))
                    .toList();
            for (HashRange range : ranges) {
                next = next == ownHash ? ownHash + 1 : next;
                assertThat(range.first()).as("seed %d", seed).isEqualTo(next);
                next = range.last() + 1;
            }
        }
    }
}
