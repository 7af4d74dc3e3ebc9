// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.ReferenceCount;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What keeps the bytes of a block where they are.
 *
 * <p><b>Threading:</b> thread-safe.
 */
interface BlockMemory extends MovingBytes {
    /** Takes a reference; false when the bytes are gone and must not be touched. */
    boolean retain();

    /** Releases a reference. */
    void release();

    /** Memory of this executor, which is not freed while a reference is held. */
    static BlockMemory of(MapOutput output) {
        return new Counted(output::retain, output::release, from -> null);
    }

    /** Memory with a count of its own, which begins with one reference. */
    static BlockMemory of(Runnable onLastRelease, MovingBytes bytes) {
        ReferenceCount references = new ReferenceCount(onLastRelease);
        return new Counted(references::retain, references::release, bytes);
    }

    /** Puts the three together. */
    record Counted(BooleanSupplier taking, Runnable giving, MovingBytes bytes) implements BlockMemory {
        @Override
        public boolean retain() {
            return taking.getAsBoolean();
        }

        @Override
        public void release() {
            giving.run();
        }

        @Override
        public @Nullable Place moved(Place from) throws IOException {
            return bytes.moved(from);
        }
    }
}
