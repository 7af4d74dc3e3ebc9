// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBlock;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * Readable bytes of a block, and the only order in which they may be used: first the bytes, then their checksum, then
 * {@code current}. A peer may free the memory at any time, but changes the shuffle's slot before it frees a byte, so an
 * unchanged slot vouches for everything that was read before.
 *
 * <p><b>Threading:</b> one thread reads.
 *
 * <p><b>Ownership:</b> closing releases the memory.
 *
 * @param bytes location, length and checksum
 * @param current returns whether the memory still belongs to the block
 * @param release runs on close
 */
record Block(StoredBlock bytes, BooleanSupplier current, Runnable release) implements AutoCloseable {
    /** Result of a read. */
    enum Outcome {
        GOOD,
        /** The checksum is wrong. */
        DAMAGED,
        /** The owner removed the shuffle or moved its outputs; the bytes may be anything. */
        WITHDRAWN
    }

    /**
     * Reads the block without copying it.
     *
     * @param verify whether to compare the checksum
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
        release.run();
    }
}
