// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

/**
 * What holds the bytes of one region: mapped memory, or an open file. They stay where they are while a reference is
 * held.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the creator holds the first reference and gives it up with {@link #close()}; every
 * {@code retain()} that returned true is paired with one {@link #release()}.
 */
public interface SharedBytes extends AutoCloseable {
    /** Takes a reference; false when the bytes are gone. */
    boolean retain();

    /** Gives back a reference that {@link #retain()} took. */
    void release();

    /** Gives up the creator's reference; idempotent. */
    @Override
    void close();
}
