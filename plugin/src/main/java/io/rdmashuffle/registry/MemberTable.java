// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Members by executor id, in the order of the ids' hashes: a lookup is a binary search, members of a {@link HashRange}
 * are contiguous, and a member costs 8 bytes in addition to itself, since every executor keeps all members.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryAgent} and {@link RegistryServer} guard theirs.
 */
final class MemberTable {
    private static final Comparator<Member> ORDER = Comparator.comparingLong(
                    (Member member) -> HashRange.hash(member.executorId()))
            .thenComparing(Member::executorId);

    /** Hashes with the highest bit turned, so that the order of ints is theirs. */
    private int[] keys = new int[16];

    private Member[] members = new Member[16];
    private int size;

    int size() {
        return size;
    }

    @Nullable
    Member get(String executorId) {
        int position = position(executorId);
        return position < 0 ? null : members[position];
    }

    /** Adds members, in place of those with the same executor id; no id may come twice. */
    void putAll(Collection<Member> added) {
        List<Member> sorted = new ArrayList<>(added.size());
        for (Member member : added) {
            int position = position(member.executorId());
            if (position >= 0) {
                members[position] = member;
            } else {
                sorted.add(member);
            }
        }
        sorted.sort(ORDER);
        reserve(size + sorted.size());
        int end = size;
        for (int i = sorted.size() - 1; i >= 0; i--) {
            Member member = sorted.get(i);
            int at = -1 - position(member.executorId(), end);
            System.arraycopy(keys, at, keys, at + i + 1, end - at);
            System.arraycopy(members, at, members, at + i + 1, end - at);
            keys[at + i] = key(HashRange.hash(member.executorId()));
            members[at + i] = member;
            end = at;
        }
        size += sorted.size();
    }

    /** Removes members; ids that are not there are no failure. */
    void removeAll(Collection<String> executorIds) {
        int[] positions = executorIds.stream()
                .mapToInt(this::position)
                .filter(position -> position >= 0)
                .sorted()
                .distinct()
                .toArray();
        int to = positions.length == 0 ? size : positions[0];
        for (int i = 0; i < positions.length; i++) {
            int from = positions[i] + 1;
            int count = (i + 1 < positions.length ? positions[i + 1] : size) - from;
            System.arraycopy(keys, from, keys, to, count);
            System.arraycopy(members, from, members, to, count);
            to += count;
        }
        Arrays.fill(members, to, size, null);
        size = to;
    }

    /** Returns a copy of those in a range, in the order of hashes. */
    List<Member> in(HashRange range) {
        int from = firstAt(range.first());
        int to = range.last() == HashRange.LARGEST ? size : firstAt(range.last() + 1);
        return List.of(Arrays.copyOfRange(members, from, to));
    }

    /** Returns a copy of all, in the order of hashes. */
    List<Member> all() {
        return in(HashRange.ALL);
    }

    Member at(int position) {
        if (position >= size) {
            throw new IndexOutOfBoundsException(position + " of " + size + " members");
        }
        return members[position];
    }

    private int position(String executorId) {
        return position(executorId, size);
    }

    /** Returns its index among the first {@code end}, or -1 minus the insertion index. */
    private int position(String executorId, int end) {
        int key = key(HashRange.hash(executorId));
        int at = lowerBound(key, end);
        for (; at < end && keys[at] == key; at++) {
            int order = members[at].executorId().compareTo(executorId);
            if (order == 0) {
                return at;
            }
            if (order > 0) {
                break;
            }
        }
        return -1 - at;
    }

    private int firstAt(long hash) {
        return lowerBound(key(hash), size);
    }

    private int lowerBound(int key, int end) {
        int at = Arrays.binarySearch(keys, 0, end, key);
        if (at < 0) {
            return -1 - at;
        }
        while (at > 0 && keys[at - 1] == key) {
            at--;
        }
        return at;
    }

    private static int key(long hash) {
        return (int) hash ^ Integer.MIN_VALUE;
    }

    private void reserve(int wanted) {
        if (wanted > keys.length) {
            int capacity = Math.max(wanted, keys.length + keys.length / 4);
            keys = Arrays.copyOf(keys, capacity);
            members = Arrays.copyOf(members, capacity);
        }
    }
}
