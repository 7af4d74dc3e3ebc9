// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBytes;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * A block in memory mapped into this process or in a file open in it, and the one order in which such a block is read:
 * first its bytes, then their checksum, and last whether they are still the block's. A peer may free them at any time,
 * but it changes the shuffle's slot before it frees a byte; so a slot that is unchanged in the end vouches for all that
 * was read before.
 *
 * <p><b>Threading:</b> one thread reads.
 *
 * <p><b>Ownership:</b> closing lets the memory go.
 *
 * @param bytes where they lie
 * @param current whether the memory was the block's until now
 * @param memory what closing gives back
 */
record InPlaceBlock<B extends StoredBytes>(B bytes, BooleanSupplier current, Runnable memory) implements AutoCloseable {
    /** What a read came to. */
    enum Outcome {
        GOOD("good"),
        /** The bytes are not those that were written. */
        DAMAGED("damaged (wrong checksum)"),
        /** The owner has removed the shuffle, or freed what its outputs have left; the bytes may be anything. */
        WITHDRAWN("gone (removed or moved there)");

        private final String reason;

        Outcome(String reason) {
            this.reason = reason;
        }

        /** Returns what is the matter, in words for a log. */
        String reason() {
            return reason;
        }
    }

    /**
     * Reads the block where it lies.
     *
     * @param verify whether to compare it with its checksum
     * @throws IOException if it lies on disk and cannot be read
     */
    Outcome check(boolean verify) throws IOException {
        return outcome(!verify || bytes.isIntact());
    }

    /**
     * Ends a read.
     *
     * @param intact whether the bytes that were read have the right checksum, or are not to be compared
     */
    Outcome outcome(boolean intact) {
        if (!current.getAsBoolean()) {
            return Outcome.WITHDRAWN;
        }
        return intact ? Outcome.GOOD : Outcome.DAMAGED;
    }

    @Override
    public void close() {
        memory.run();
    }
}
