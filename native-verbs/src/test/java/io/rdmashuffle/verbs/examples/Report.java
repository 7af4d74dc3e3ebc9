// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.RawMemory;

/**
 * What a client of Bandwidth tells its server while it measures, so that silence means something, and
 * at the end; the server sends the last one back.
 *
 * <pre>
 *  0        8              16       24
 *  +--------+--------------+--------+
 *  | last:1 | operations   | nanos  |   little-endian
 *  +--------+--------------+--------+
 * </pre>
 *
 * @param last whether the run is over
 * @param operations that were measured
 * @param nanos that they took
 */
record Report(boolean last, long operations, long nanos) {
    static final int BYTES = 24;

    /** Reads one; the caller keeps the memory alive. */
    static Report read(long address) {
        return new Report(
                RawMemory.getLong(address) == 1,
                RawMemory.getLong(address + Long.BYTES),
                RawMemory.getLong(address + 2 * Long.BYTES));
    }

    /** Writes it; the caller keeps the memory alive. */
    void write(long address) {
        RawMemory.putLong(address, last ? 1 : 0);
        RawMemory.putLong(address + Long.BYTES, operations);
        RawMemory.putLong(address + 2 * Long.BYTES, nanos);
    }
}
