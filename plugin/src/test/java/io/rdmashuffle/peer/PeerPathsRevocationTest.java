// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.registry.Member;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of revocations and admissions in fabrics. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class PeerPathsRevocationTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<String> told = new ArrayList<>();
    private Pool pool;
    private PeerPaths paths;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        paths = new PeerPaths(
                List.of(fabric("verbs"), fabric("other")),
                new BlockingReads(new ReceiveLeases(pool, Duration.ZERO), Duration.ofSeconds(1)),
                id -> Optional.empty(),
                Duration.ZERO);
    }

    @AfterEach
    void close() {
        paths.close();
        pool.close();
    }

    private Fabric fabric(String name) {
        return (Fabric) Proxy.newProxyInstance(
                Fabric.class.getClassLoader(), new Class<?>[] {Fabric.class}, (self, method, arguments) -> {
                    if (method.getName().equals("name")) {
                        return name;
                    }
                    told.add(method.getName() + " " + name + " "
                            + new String((byte[]) arguments[0], StandardCharsets.UTF_8));
                    return null;
                });
    }

    private static Member member(Map<String, String> addresses) {
        Map<String, byte[]> encoded = new HashMap<>();
        addresses.forEach((fabric, address) -> encoded.put(fabric, address.getBytes(StandardCharsets.UTF_8)));
        return new Member("7", UUID.randomUUID(), encoded);
    }

    @Test
    void memberIsAdmittedWhenItComesAndRevokedWhenItLeaves() {
        Member member = member(Map.of("verbs", "a", "other", "b", "directory", "c"));
        paths.changed(null, member);
        assertThat(told).containsExactly("admit verbs a", "admit other b");
        told.clear();
        paths.changed(member, null);
        assertThat(told).containsExactly("revoke verbs a", "revoke other b");
    }

    @Test
    void replacedMemberIsRevokedBeforeAdmission() {
        paths.changed(member(Map.of("verbs", "old")), member(Map.of("verbs", "new", "other", "b")));
        assertThat(told).containsExactly("revoke verbs old", "admit verbs new", "admit other b");
    }

    @Test
    void fabricsThatAMemberDoesNotOfferAreNotTold() {
        Member member = member(Map.of("directory", "c"));
        paths.changed(null, member);
        paths.changed(member, null);
        assertThat(told).isEmpty();
    }
}
