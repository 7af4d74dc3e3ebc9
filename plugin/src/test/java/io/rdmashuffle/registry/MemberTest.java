// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class MemberTest {
    private static final UUID INCARNATION = new UUID(1, 2);

    @Test
    void addressesAreCopiedInAndOut() {
        byte[] address = {1, 2};
        Map<String, byte[]> addresses = new HashMap<>(Map.of("shm", address));
        Member member = new Member("1", INCARNATION, addresses);
        Member same = new Member("1", INCARNATION, Map.of("shm", new byte[] {1, 2}));

        address[0] = 9;
        addresses.clear();
        member.addresses().getOrDefault("shm", new byte[2])[1] = 9;

        assertThat(member).isEqualTo(same).hasSameHashCodeAs(same);
        assertThat(member.address("shm")).containsExactly(1, 2);
        assertThat(member.address("verbs")).isNull();
        assertThatThrownBy(() -> member.addresses().clear()).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void membersDifferByIncarnationAndAddress() {
        assertThat(TestMembers.member("1", 1))
                .isNotEqualTo(TestMembers.member("1", 2))
                .isNotEqualTo(TestMembers.member("2", 1))
                .isNotEqualTo(TestMembers.member("1", 1, 2))
                .isNotEqualTo(new Member("1", new UUID(0, 1), Map.of("verbs", new byte[] {1})));
    }

    @Test
    void boundsAreEnforced() {
        Map<String, byte[]> many = new HashMap<>();
        for (int i = 0; i <= Member.MAX_FABRICS; i++) {
            many.put("f" + i, new byte[0]);
        }
        assertThatThrownBy(() -> new Member("1", INCARNATION, many)).hasMessageContaining("17 fabrics");
        assertThatThrownBy(() -> new Member("1", INCARNATION, Map.of("f", new byte[4097])))
                .hasMessageContaining("4097 bytes: at most 4096");
        assertThatThrownBy(() -> new Member("", INCARNATION, Map.of())).hasMessageContaining("executor id");
        assertThatThrownBy(() -> new Member("é".repeat(129), INCARNATION, Map.of()))
                .hasMessageContaining("258 bytes");
        assertThatThrownBy(() -> new Member("1", INCARNATION, Map.of("", new byte[0])))
                .hasMessageContaining("fabric name");
    }
}
