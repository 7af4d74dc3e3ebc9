// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class MemberTableTest {
    /** "Aa" and "BB" have the same hash in Java, and so have their longer kin. */
    private static final String[] LETTERS = {"Aa", "BB", "1", "2"};

    @Test
    void itIsAMapInTheOrderOfHashes() {
        long seed = new Random().nextLong();
        System.out.println("MemberTableTest.itIsAMapInTheOrderOfHashes seed " + seed);
        Random random = new Random(seed);
        MemberTable table = new MemberTable();
        Map<String, Member> expected = new TreeMap<>();
        for (int step = 0; step < 2_000; step++) {
            Map<String, Member> added = new TreeMap<>();
            for (int i = random.nextInt(8); i > 0; i--) {
                String id = id(random);
                added.put(id, member(id, step));
            }
            table.putAll(added.values());
            expected.putAll(added);
            List<String> removed = new ArrayList<>();
            for (int i = random.nextInt(8); i > 0; i--) {
                removed.add(id(random));
            }
            table.removeAll(removed);
            expected.keySet().removeAll(removed);

            assertThat(table.all()).as("seed %d", seed).containsExactlyInAnyOrderElementsOf(expected.values());
            assertThat(table.size()).isEqualTo(expected.size());
            long border = Integer.toUnsignedLong(random.nextInt());
            List<Member> halves = new ArrayList<>(table.in(new HashRange(0, border)));
            assertThat(halves).allMatch(each -> HashRange.hash(each.executorId()) <= border);
            halves.addAll(table.in(new HashRange(Math.min(border + 1, HashRange.LARGEST), HashRange.LARGEST)));
            assertThat(halves).as("seed %d", seed).isEqualTo(table.all());
            String asked = id(random);
            assertThat(table.get(asked)).isEqualTo(expected.get(asked));
        }
    }

    private static String id(Random random) {
        StringBuilder id = new StringBuilder();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            id.append(LETTERS[random.nextInt(LETTERS.length)]);
        }
        return id.toString();
    }

    /** A process that hashed otherwise would pass changes on to others than the driver thinks. */
    @Test
    void hashesStayAsTheyAre() {
        assertThat(HashRange.hash("1")).isEqualTo(HashRange.mix(49) & 0xffff_ffffL);
        assertThat(HashRange.hash("Aa")).isEqualTo(HashRange.hash("BB"));
        assertThat(HashRange.mix(0)).isZero();
        assertThat(HashRange.mix(1)).isEqualTo(0x514e28b7);
    }
}
