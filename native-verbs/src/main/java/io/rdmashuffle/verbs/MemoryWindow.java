// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_mw;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_mw_bind;
import java.util.Set;

/**
 * A part of a region under an rkey of its own, which can be given and taken back without registering anything.
 *
 * <p><b>Threading:</b> one thread binds; the key may be read by all.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain}; must be closed before the region under it.
 *
 * <p><b>Source:</b> ibv_alloc_mw(3), ibv_bind_mw(3).
 */
public final class MemoryWindow extends NativeResource {
    /** The part of an rkey that its user chooses. */
    private static final int KEY_MASK = 0xff;

    private final DeviceCalls calls;

    MemoryWindow(NativeResource domain, DeviceCalls calls, long handle, Type type) {
        super("memory window (" + type + ") on " + calls.deviceName(), handle, domain);
        this.calls = calls;
    }

    /** Types of windows, by their binding. */
    public enum Type {
        /** Bound by a verb of its own, {@link MemoryWindow#bind}. */
        ONE(VerbsConstants.IBV_MW_TYPE_1),
        /** Bound by a work request; the rkey's last byte is the caller's to choose. */
        TWO(VerbsConstants.IBV_MW_TYPE_2);

        private final int number;

        Type(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }
    }

    /** {@return the rkey under which the window is bound now} */
    public int remoteKey() {
        long window = enter();
        try {
            return RawMemory.getInt(window + ibv_mw.rkey);
        } finally {
            exit();
        }
    }

    /** {@return the rkey to bind a window of type two under next: the present one with its last byte counted up} */
    public int nextRemoteKey() {
        int key = remoteKey();
        return (key & ~KEY_MASK) | ((key + 1) & KEY_MASK);
    }

    /**
     * Records the rkey of a window of type two, once {@link SendRequests#bindWindow} has completed.
     *
     * @param remoteKey the key that the window was bound under
     */
    public void rebound(int remoteKey) {
        long window = enter();
        try {
            RawMemory.putInt(window + ibv_mw.rkey, remoteKey);
        } finally {
            exit();
        }
    }

    /**
     * Binds a window of type one to a part of a region; takes effect when the request with this id has completed.
     * Length 0 takes the rkey back.
     *
     * @param pair a connected queue pair of the same protection domain, on whose send queue the binding is posted
     * @param id the id of the completion
     * @param region the region under the window, with {@link Access#BIND_WINDOW}
     * @param address first byte that the window opens
     * @param lengthBytes length; 0 unbinds
     * @param remoteRights what the peer may do, at most what the region allows
     */
    public void bind(
            QueuePair pair, long id, MemoryRegion region, long address, long lengthBytes, Set<Access> remoteRights) {
        try (InUse inUse = InUse.of(this, pair, region);
                NativeBuffer bind = new NativeBuffer(ibv_mw_bind.SIZEOF)) {
            bind.putLong(ibv_mw_bind.wr_id, id);
            bind.putInt(ibv_mw_bind.send_flags, VerbsConstants.IBV_SEND_SIGNALED);
            bind.putLong(ibv_mw_bind.bind_info__mr, inUse.handle(region));
            bind.putLong(ibv_mw_bind.bind_info__addr, address);
            bind.putLong(ibv_mw_bind.bind_info__length, lengthBytes);
            bind.putInt(ibv_mw_bind.bind_info__mw_access_flags, Access.flags(remoteRights));
            NativeResult.checkReturned(
                    calls.operations().ibv_bind_mw(inUse.handle(pair), inUse.handle(this), bind.address()),
                    () -> "ibv_bind_mw(length=" + lengthBytes + ", access=" + remoteRights + ") on "
                            + calls.deviceName());
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.operations().ibv_dealloc_mw(handle), () -> "ibv_dealloc_mw() of " + name());
    }
}
