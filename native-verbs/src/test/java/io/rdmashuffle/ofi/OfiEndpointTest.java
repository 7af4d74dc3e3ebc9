// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.ffi.NativeBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two endpoints of this process; each makes progress only while it is polled. */
@Tag("ofi")
@Timeout(60)
class OfiEndpointTest {
    private static final int SLOTS = 64;
    private static final int BYTES = 1 << 20;

    /** Provider shm reads memory of its user's processes past the keys. */
    private static final boolean CHECKS_KEYS = !OfiTestDevice.PROVIDER.equals("shm");

    private final Random random = new Random(3);
    private final List<AutoCloseable> opened = new ArrayList<>();
    private OfiEndpoint reader;
    private OfiEndpoint owner;
    private NativeBuffer source;
    private NativeBuffer target;
    private OfiRegion sourceRegion;
    private OfiRegion messageRegion;
    private OfiRegion targetRegion;
    private long peer;

    /** Ended operations by slot: an empty text is a success. */
    private static final class Ends implements OfiEndpoint.Listener {
        private final Map<Integer, String> bySlot = new HashMap<>();
        private int length;

        @Override
        public void completed(int slot, int bytes) {
            length = bytes;
            assertThat(bySlot.put(slot, "")).isNull();
        }

        @Override
        public void failed(int slot, int error, String reason) {
            assertThat(error).isPositive();
            assertThat(reason).isNotEmpty();
            assertThat(bySlot.put(slot, reason)).isNull();
        }
    }

    @BeforeEach
    void open() throws Exception {
        OfiDevice device = adopt(OfiTestDevice.open());
        reader = adopt(OfiEndpoint.open(device, SLOTS));
        owner = adopt(OfiEndpoint.open(device, SLOTS));
        source = adopt(NativeBuffer.ofPages(BYTES));
        target = adopt(NativeBuffer.ofPages(BYTES));
        sourceRegion = adopt(owner.registerRemote(source.address(), BYTES));
        messageRegion = adopt(owner.registerLocal(source.address(), BYTES));
        targetRegion = adopt(reader.registerLocal(target.address(), BYTES));
        peer = reader.insert(owner.name());
        byte[] bytes = new byte[BYTES];
        random.nextBytes(bytes);
        source.putBytes(0, bytes, 0, BYTES);
    }

    private <T extends AutoCloseable> T adopt(T resource) {
        opened.add(resource);
        return resource;
    }

    @AfterEach
    void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    private void pollUntil(Ends atReader, int reads, Ends atOwner, int messages) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (atReader.bySlot.size() < reads || atOwner.bySlot.size() < messages) {
            assertThat(System.nanoTime() - deadline)
                    .as("%s, %s", atReader.bySlot, atOwner.bySlot)
                    .isNegative();
            reader.poll(atReader);
            owner.poll(atOwner);
        }
    }

    private boolean read(int slot, long offset, long length, long key) {
        return reader.read(
                slot, targetRegion, target.address(offset), length, peer, sourceRegion.remoteBase() + offset, key);
    }

    private byte[] bytes(NativeBuffer buffer) {
        byte[] bytes = new byte[BYTES];
        buffer.getBytes(0, bytes, 0, BYTES);
        return bytes;
    }

    @Test
    void readsBringBytesOfTheOwner() {
        Ends ends = new Ends();
        Ends none = new Ends();
        int piece = BYTES / SLOTS;
        for (int slot = 0; slot < SLOTS; slot++) {
            while (!read(slot, (long) slot * piece, piece, sourceRegion.key())) {
                reader.poll(ends);
                owner.poll(none);
            }
        }
        pollUntil(ends, SLOTS, none, 0);
        assertThat(ends.bySlot.values()).containsOnly("");
        assertThat(bytes(target)).isEqualTo(bytes(source));
    }

    @Test
    void aReadWithAWrongKeyFails() {
        assumeTrue(CHECKS_KEYS);
        Ends ends = new Ends();
        while (!read(0, 0, 4096, sourceRegion.key() ^ 0x55)) {
            reader.poll(ends);
            owner.poll(new Ends());
        }
        pollUntil(ends, 1, new Ends(), 0);
        assertThat(ends.bySlot.get(0)).isNotEmpty();
        assertThat(target.getLong(0)).isZero();
    }

    @Test
    void aReadOfClosedMemoryFails() {
        assumeTrue(CHECKS_KEYS);
        Ends ends = new Ends();
        while (!read(0, 0, 4096, sourceRegion.key())) {
            reader.poll(ends);
            owner.poll(new Ends());
        }
        pollUntil(ends, 1, new Ends(), 0);
        assertThat(ends.bySlot.remove(0)).isEmpty();
        sourceRegion.close();
        while (!read(1, 0, 4096, sourceRegion.key())) {
            reader.poll(ends);
            owner.poll(new Ends());
        }
        pollUntil(ends, 1, new Ends(), 0);
        assertThat(ends.bySlot.get(1)).isNotEmpty();
    }

    @Test
    void messagesArriveWithTheirLength() {
        Ends sent = new Ends();
        Ends received = new Ends();
        assertThat(owner.receive(5, messageRegion, source.address(), 256)).isTrue();
        target.putLong(0, 42);
        while (!reader.send(7, targetRegion, target.address(), 24, peer)) {
            reader.poll(sent);
            owner.poll(received);
        }
        pollUntil(sent, 1, received, 1);
        assertThat(sent.bySlot).containsEntry(7, "");
        assertThat(received.bySlot).containsEntry(5, "");
        assertThat(received.length).isEqualTo(24);
        assertThat(source.getLong(0)).isEqualTo(42);
    }

    /** The JVM finds both by a signal, once the compiler has left the checks out. */
    @Test
    void nullChecksAndStackOverflowsAreStillFound() {
        int nulls = 0;
        int overflows = 0;
        for (int i = 0; i < 20_000; i++) {
            nulls += lengthOf(i % 20 == 0 ? null : "text") < 0 ? 1 : 0;
        }
        for (int i = 0; i < 1000; i++) {
            try {
                deeper(0);
            } catch (StackOverflowError e) {
                overflows++;
            }
        }
        assertThat(nulls).isEqualTo(1000);
        assertThat(overflows).isEqualTo(1000);
    }

    @SuppressWarnings("InfiniteRecursion")
    private static int deeper(int depth) {
        return deeper(depth + 1) + 1;
    }

    @SuppressWarnings("NullAway")
    private static int lengthOf(@Nullable String text) {
        try {
            return text.length();
        } catch (NullPointerException e) {
            return -1;
        }
    }
}
