// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.ReferenceCount;
import java.util.function.BooleanSupplier;

/**
 * What keeps the bytes of a block where they are.
 *
 * <p><b>Threading:</b> thread-safe.
 */
interface BlockMemory {
    /** Takes a reference; false when the bytes are gone and must not be touched. */
    boolean retain();

    /** Releases a reference. */
    void release();

    /** Returns whether what was read until now was the block: a peer may reuse its memory under a reader. */
    boolean isCurrent();

    /** Memory of this executor, which is not freed while a reference is held. */
    static BlockMemory of(MapOutput output) {
        return new Counted(output::retain, output::release, () -> true);
    }

    /** Memory with a count of its own, which begins with one reference. */
    static BlockMemory of(Runnable onLastRelease, BooleanSupplier current) {
        ReferenceCount references = new ReferenceCount(onLastRelease);
        return new Counted(references::retain, references::release, current);
    }

    /** Puts the three together. */
    record Counted(BooleanSupplier taking, Runnable giving, BooleanSupplier current) implements BlockMemory {
        @Override
        public boolean retain() {
            return taking.getAsBoolean();
        }

        @Override
        public void release() {
            giving.run();
        }

        @Override
        public boolean isCurrent() {
            return current.getAsBoolean();
        }
    }
}
