// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Native buffers: zeroed, aligned, checked at both ends, and dead after close. */
@Tag("unit")
@Timeout(60)
class NativeBufferTest {
    @Test
    void startsZeroedAndAligned() {
        for (int length : new int[] {1, 7, 64, 65, 4096, 1 << 20}) {
            try (NativeBuffer buffer = NativeBuffer.allocate(length)) {
                assertThat(buffer.lengthBytes()).isEqualTo(length);
                assertThat(buffer.address() % NativeBuffer.ALIGNMENT_BYTES).isZero();
                byte[] content = new byte[length];
                buffer.getBytes(0, content, 0, length);
                assertThat(content).containsOnly(0);
                buffer.putByte(length - 1, (byte) 1);
            }
        }
    }

    @Test
    void keepsWhatIsPut() {
        long seed = System.nanoTime();
        System.out.println("NativeBufferTest seed " + seed);
        byte[] content = new byte[100];
        new Random(seed).nextBytes(content);
        try (NativeBuffer buffer = new NativeBuffer(128)) {
            buffer.putByte(0, (byte) -1);
            buffer.putShort(2, (short) 0x8001);
            buffer.putInt(4, 0x80000001);
            buffer.putLong(8, 0x8000000000000001L);
            assertThat(buffer.getByte(0)).isEqualTo((byte) -1);
            assertThat(buffer.getShort(2)).isEqualTo((short) 0x8001);
            assertThat(buffer.getInt(4)).isEqualTo(0x80000001);
            assertThat(buffer.getLong(8)).isEqualTo(0x8000000000000001L);
            assertThat(RawMemory.getLong(buffer.address(8))).isEqualTo(buffer.getLong(8));
            buffer.putBytes(28, content, 10, 90);
            byte[] seen = new byte[100];
            System.arraycopy(content, 0, seen, 0, 10);
            buffer.getBytes(28, seen, 10, 90);
            assertThat(seen).isEqualTo(content);
            buffer.clear(8, 8);
            assertThat(buffer.getLong(8)).isZero();
            assertThat(buffer.getInt(4)).isEqualTo(0x80000001);
            buffer.clear();
            assertThat(buffer.getInt(4)).isZero();
        }
    }

    @Test
    void refusesWhatIsOutside() {
        byte[] bytes = new byte[4];
        try (NativeBuffer buffer = new NativeBuffer(16)) {
            List<ThrowingCallable> outside = List.of(
                    () -> buffer.getByte(16),
                    () -> buffer.getByte(-1),
                    () -> buffer.putByte(Long.MAX_VALUE, (byte) 0),
                    () -> buffer.getShort(15),
                    () -> buffer.putShort(15, (short) 0),
                    () -> buffer.getInt(13),
                    () -> buffer.putInt(-4, 0),
                    () -> buffer.getLong(9),
                    () -> buffer.putLong(9, 0),
                    () -> buffer.address(16),
                    () -> buffer.clear(8, 9),
                    () -> buffer.clear(0, -1),
                    () -> buffer.getBytes(13, bytes, 0, 4),
                    () -> buffer.putBytes(13, bytes, 0, 4),
                    () -> buffer.getBytes(0, bytes, 1, 4),
                    () -> buffer.putBytes(0, bytes, -1, 4));
            assertThat(outside)
                    .allSatisfy(access -> assertThatThrownBy(access).isInstanceOf(IndexOutOfBoundsException.class));
            buffer.putLong(8, 1);
            buffer.putInt(12, 1);
        }
        assertThatThrownBy(() -> new NativeBuffer(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new NativeBuffer(Long.MAX_VALUE)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void endsWithClose() {
        NativeBuffer buffer = new NativeBuffer(16);
        assertThat(buffer.isClosed()).isFalse();
        buffer.close();
        buffer.close();
        assertThat(buffer.isClosed()).isTrue();
        List<ThrowingCallable> uses =
                List.of(buffer::address, () -> buffer.getInt(0), () -> buffer.putByte(0, (byte) 0), buffer::clear);
        assertThat(uses)
                .allSatisfy(use -> assertThatThrownBy(use)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("16 bytes is closed"));
    }

    @Test
    void allocationFailureNamesTheSize() {
        assertThatThrownBy(() -> new NativeBuffer(1L << 60))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("1152921504606846976 bytes");
    }
}
