// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;

/** Encoder of scatter/gather entries. <b>Source:</b> struct ibv_sge. */
final class ScatterGather {
    private ScatterGather() {}

    /** Writes one entry; {@code entry} lies in an array that the caller keeps alive. */
    static void put(long entry, long address, int length, int localKey) {
        RawMemory.putLong(entry + ibv_sge.addr, address);
        RawMemory.putInt(entry + ibv_sge.length, length);
        RawMemory.putInt(entry + ibv_sge.lkey, localKey);
    }
}
