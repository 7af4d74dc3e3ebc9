// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bulk operations on ranges that are longer than a piece. */
@Tag("unit")
@Timeout(60)
class RawMemoryTest {
    private static final int BYTES = (3 << 20) + 77;

    @Test
    void splitsRangesIntoPieces() {
        List<Long> ends = new ArrayList<>();
        RawMemory.inPieces((2L << 20) + 1, (offset, length) -> {
            assertThat(length).isBetween(1L, 1L << 20);
            assertThat(offset).isEqualTo(ends.isEmpty() ? 0 : ends.get(ends.size() - 1));
            ends.add(offset + length);
        });
        assertThat(ends).containsExactly(1L << 20, 2L << 20, (2L << 20) + 1);
        RawMemory.inPieces(0, (offset, length) -> {
            throw new AssertionError("no bytes, no piece");
        });
    }

    @Test
    void copiesAndClearsAcrossPieces() {
        byte[] content = new byte[BYTES];
        new Random(11).nextBytes(content);
        byte[] found = new byte[BYTES];
        try (NativeBuffer source = new NativeBuffer(BYTES);
                NativeBuffer target = new NativeBuffer(BYTES + 1)) {
            source.putBytes(0, content, 0, BYTES);
            target.putBytes(BYTES, new byte[] {42}, 0, 1);
            RawMemory.copy(source.address(), target.address(), BYTES);
            target.getBytes(0, found, 0, BYTES);
            assertThat(found).isEqualTo(content);
            RawMemory.clear(target.address(), BYTES);
            target.getBytes(0, found, 0, BYTES);
            assertThat(found).containsOnly(0);
            target.getBytes(BYTES, found, 0, 1);
            assertThat(found[0]).isEqualTo((byte) 42);
        }
    }

    @Test
    void startsLargeBuffersWithZeros() {
        byte[] found = new byte[BYTES];
        for (int round = 0; round < 3; round++) {
            try (NativeBuffer buffer = new NativeBuffer(BYTES)) {
                buffer.getBytes(0, found, 0, BYTES);
                assertThat(found).containsOnly(0);
                Arrays.fill(found, (byte) 1);
                buffer.putBytes(0, found, 0, BYTES);
            }
        }
    }
}
