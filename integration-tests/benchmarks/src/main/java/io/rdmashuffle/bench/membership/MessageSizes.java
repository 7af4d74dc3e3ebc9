// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * How many bytes the codec makes of a message. Snapshots, of which a simulation makes thousands with thousands of
 * members each, are added up from their members' bytes, and every hundredth is encoded to see that this is right.
 *
 * <p><b>Threading:</b> one thread.
 */
final class MessageSizes {
    /** As long as what an executor with shared memory and one verbs port announces. */
    private static final Map<String, byte[]> ADDRESSES =
            Map.of("shm", new byte[64], "verbs", new byte[38], "directory", new byte[28], "spark", new byte[20]);

    private static final int CHECKED = 100;

    private final RegistryCodec codec = new RegistryCodec();
    private final Map<Integer, Long> byIdLength = new HashMap<>();
    private long snapshots;

    /** Returns a member as the simulated executors announce it. */
    static Member member(String executorId, long incarnation) {
        return new Member(executorId, new UUID(0, incarnation), ADDRESSES);
    }

    RegistryCodec codec() {
        return codec;
    }

    long of(RegistryMessage message) {
        return message instanceof Snapshot snapshot ? ofSnapshot(snapshot) : codec.encode(message).length;
    }

    /** Returns how many bytes one member takes in a message. */
    long ofMember(Member member) {
        return byIdLength.computeIfAbsent(
                member.executorId().length(),
                length -> (long) codec.encode(new Snapshot(0, List.of(member))).length
                        - codec.encode(new Snapshot(0, List.of())).length);
    }

    private long ofSnapshot(Snapshot snapshot) {
        long bytes = codec.encode(new Snapshot(snapshot.version(), List.of())).length
                + varintBytes(snapshot.members().size())
                - 1L;
        for (Member member : snapshot.members()) {
            bytes += ofMember(member);
        }
        if (snapshots++ % CHECKED == 0 && codec.encode(snapshot).length != bytes) {
            throw new IllegalStateException(
                    "a snapshot of " + snapshot.members().size() + " members has " + codec.encode(snapshot).length
                            + " bytes, not " + bytes);
        }
        return bytes;
    }

    private static int varintBytes(int value) {
        int bytes = 1;
        for (int rest = value >>> 7; rest != 0; rest >>>= 7) {
            bytes++;
        }
        return bytes;
    }
}
