// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.Errno;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of reservations under signals, with a file that counts reserved bytes. */
@Tag("unit")
class FileBlocksTest {
    private static final long BYTES = (256 << 20) + 4096;
    private static final int EINTR = Errno.EINTR.number();

    private final AtomicLong reservedTo = new AtomicLong(17);
    private final AtomicInteger calls = new AtomicInteger();

    private int take(long offset, long bytes) {
        assertThat(offset).as("nothing is left out or asked for twice").isEqualTo(reservedTo.get());
        reservedTo.addAndGet(bytes);
        return 0;
    }

    @Test
    void oneCallWillDoWhereNoSignalComes() {
        assertThat(FileBlocks.reserve(
                        (offset, bytes) -> {
                            calls.incrementAndGet();
                            return take(offset, bytes);
                        },
                        17,
                        BYTES))
                .isZero();
        assertThat(calls).hasValue(1);
        assertThat(reservedTo).hasValue(17 + BYTES);
    }

    /** As with a tmpfs and a timer that is shorter than a long call. */
    @Test
    void reservesInPiecesUnderSignals() {
        assertThat(FileBlocks.reserve(
                        (offset, bytes) ->
                                bytes > 20 << 20 || calls.incrementAndGet() % 2 == 0 ? EINTR : take(offset, bytes),
                        17,
                        BYTES))
                .isZero();
        assertThat(reservedTo).hasValue(17 + BYTES);
    }

    @Test
    void noPieceIsSmallAndAnEndlessRowOfSignalsIsAnError() {
        assertThat(FileBlocks.reserve(
                        (offset, bytes) -> {
                            calls.incrementAndGet();
                            assertThat(bytes).isGreaterThanOrEqualTo(FileBlocks.MIN_PIECE_BYTES);
                            return EINTR;
                        },
                        17,
                        BYTES))
                .isEqualTo(EINTR);
        assertThat(calls).hasValue(FileBlocks.MAX_INTERRUPTS + 1);
    }

    @Test
    void otherErrorsAreToldAtOnce() {
        int errno = FileBlocks.reserve(
                (offset, bytes) -> calls.incrementAndGet() == 1 ? EINTR : Errno.ENOSPC.number(), 17, BYTES);
        assertThat(errno).isEqualTo(Errno.ENOSPC.number());
        assertThat(calls).hasValue(2);
    }
}
