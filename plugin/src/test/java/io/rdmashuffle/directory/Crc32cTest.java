// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lengths of the calls that have no safepoint poll. */
@Tag("unit")
@Timeout(60)
class Crc32cTest {
    private static final int BYTES = (5 << 20) + 77;

    private final CRC32C expected = new CRC32C();

    /** Checksum that notes the length of each call. */
    private static final class Noted implements Checksum {
        private final CRC32C crc = new CRC32C();
        private final List<Integer> lengths = new ArrayList<>();

        @Override
        public void update(int b) {
            throw new AssertionError("byte by byte");
        }

        @Override
        public void update(byte[] bytes, int offset, int length) {
            lengths.add(length);
            crc.update(bytes, offset, length);
        }

        @Override
        public void update(ByteBuffer buffer) {
            lengths.add(buffer.remaining());
            crc.update(buffer);
        }

        @Override
        public long getValue() {
            return crc.getValue();
        }

        @Override
        public void reset() {
            crc.reset();
        }
    }

    private byte[] content() {
        byte[] content = new byte[BYTES];
        new Random(7).nextBytes(content);
        expected.update(content, 0, BYTES);
        return content;
    }

    private void assertInPieces(Noted noted) {
        assertThat(noted.lengths).allMatch(length -> length <= 1 << 20);
        assertThat(noted.lengths.stream().mapToInt(Integer::intValue).sum()).isEqualTo(BYTES);
        assertThat(noted.getValue()).isEqualTo(expected.getValue());
    }

    @Test
    void checksLargeSlicesInPieces() {
        byte[] content = content();
        try (NativeBuffer memory = new NativeBuffer(BYTES)) {
            memory.putBytes(0, content, 0, BYTES);
            Noted noted = new Noted();
            MemorySlice slice = new MemorySlice(memory.address(), BYTES);
            Crc32c.update(noted, slice);
            assertInPieces(noted);
            assertThat(Crc32c.of(slice)).isEqualTo((int) expected.getValue());
        }
    }

    @Test
    void checksLargeArraysInPieces() {
        Noted noted = new Noted();
        Crc32c.update(noted, content(), 0, BYTES);
        assertInPieces(noted);
    }
}
