// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.ArrayList;
import java.util.List;

/**
 * Partition of a range of hashes into parts, each relayed to one of its members.
 *
 * <p>The parts leave out the hash of the member that divides, so they shrink from one to the next and no message comes
 * back. They leave out no other hash between two members: one that only a later relay knows is in its range.
 *
 * <p><b>Threading:</b> stateless.
 */
final class RelayParts {
    /** Most parts, and so most messages of one relay, unless members share a hash or cannot be reached. */
    static final int MAX_PARTS = 8;
    /** Fan-out of the driver, lower than that of members because every executor queries it. */
    static final int MAX_DRIVER_PARTS = 4;
    /** Of a relay that is not among the members: the driver. */
    static final long NO_HASH = -1;

    /**
     * A part and the members that are known in it.
     *
     * @param members in the order of their hashes, one or more
     */
    record Part(HashRange range, List<Member> members) {}

    private RelayParts() {}

    /**
     * Divides.
     *
     * @param members those in the range, in the order of their hashes, without the one that divides
     * @param ownHash of the one that divides, or {@link #NO_HASH}
     */
    static List<Part> of(HashRange range, List<Member> members, long ownHash) {
        List<Part> parts = new ArrayList<>();
        if (!range.contains(ownHash)) {
            addParts(parts, range, members, (members.size() + MAX_DRIVER_PARTS - 1) / MAX_DRIVER_PARTS);
            return parts;
        }
        int left = 0;
        int same = 0;
        for (Member member : members) {
            long hash = hash(member);
            left += hash < ownHash ? 1 : 0;
            same += hash == ownHash ? 1 : 0;
        }
        // Both sides may end with a part that is not full.
        int size = (members.size() - same + MAX_PARTS - 2) / (MAX_PARTS - 1);
        if (left > 0) {
            addParts(parts, new HashRange(range.first(), ownHash - 1), members.subList(0, left), size);
        }
        if (same > 0 && range.first() < range.last()) {
            addEach(parts, new HashRange(ownHash, ownHash), members.subList(left, left + same));
        }
        if (left + same < members.size()) {
            HashRange after = new HashRange(ownHash + 1, range.last());
            addParts(parts, after, members.subList(left + same, members.size()), size);
        }
        return parts;
    }

    private static void addParts(List<Part> parts, HashRange range, List<Member> members, int size) {
        long first = range.first();
        int from = 0;
        while (from < members.size()) {
            int to = Math.min(from + size, members.size());
            while (to < members.size() && hash(members.get(to)) == hash(members.get(to - 1))) {
                to++;
            }
            long last = to == members.size() ? range.last() : hash(members.get(to - 1));
            List<Member> part = members.subList(from, to);
            if (first == last) {
                addEach(parts, new HashRange(first, last), part);
            } else {
                parts.add(new Part(new HashRange(first, last), part));
            }
            first = last + 1;
            from = to;
        }
    }

    /** Members of one hash cannot be told apart by a range: each gets a message of its own. */
    private static void addEach(List<Part> parts, HashRange range, List<Member> members) {
        members.forEach(member -> parts.add(new Part(range, List.of(member))));
    }

    private static long hash(Member member) {
        return HashRange.hash(member.executorId());
    }
}
