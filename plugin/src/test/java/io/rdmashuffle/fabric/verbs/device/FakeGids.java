// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.DeviceLayout.ibv_gid_entry;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.RawMemory;

/**
 * The GIDs of a fake device's port: none, or the one that queue pairs send with.
 *
 * <p><b>Threading:</b> under the lock of its {@link FakeRdma}, but for {@link #set}, which comes first.
 */
public final class FakeGids {
    private static final int NONE = -1;

    private int index;
    private int type = NONE;

    /** Sets the only entry of the table: its row, and its type as libibverbs numbers it. */
    public void set(int newIndex, int newType) {
        index = newIndex;
        type = newType;
    }

    long queryPair(long attributes) {
        RawMemory.putByte(attributes + ibv_qp_attr.ah_attr__grh__sgid_index, (byte) index);
        return 0;
    }

    long queryTable(long table) {
        if (type == NONE) {
            return 0;
        }
        RawMemory.putInt(table + ibv_gid_entry.gid_index, index);
        RawMemory.putInt(table + ibv_gid_entry.port_num, 1);
        RawMemory.putInt(table + ibv_gid_entry.gid_type, type);
        return 1;
    }
}
