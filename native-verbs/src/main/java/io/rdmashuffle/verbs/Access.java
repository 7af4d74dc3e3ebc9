// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.VerbsConstants;
import java.util.Set;

/**
 * Access rights of a memory region or queue pair.
 *
 * <p><b>Source:</b> ibv_reg_mr(3), enum ibv_access_flags.
 */
public enum Access {
    /** The device may write here for a request of this process: the target of a READ or of a receive needs it. */
    LOCAL_WRITE(VerbsConstants.IBV_ACCESS_LOCAL_WRITE),
    /** A peer may WRITE. Needs LOCAL_WRITE too. */
    REMOTE_WRITE(VerbsConstants.IBV_ACCESS_REMOTE_WRITE),
    /** A peer may READ. */
    REMOTE_READ(VerbsConstants.IBV_ACCESS_REMOTE_READ),
    /** A peer may use atomics. Needs LOCAL_WRITE too. */
    REMOTE_ATOMIC(VerbsConstants.IBV_ACCESS_REMOTE_ATOMIC),
    /** Memory windows may be bound to the region. */
    BIND_WINDOW(VerbsConstants.IBV_ACCESS_MW_BIND),
    /** Pages are not pinned; the device takes page faults. See {@link DeviceLimits#onDemandPaging()}. */
    ON_DEMAND(VerbsConstants.IBV_ACCESS_ON_DEMAND),
    /** Reads and writes of other peers may pass one another on the bus. */
    RELAXED_ORDERING(VerbsConstants.IBV_ACCESS_RELAXED_ORDERING);

    private final int flag;

    Access(int flag) {
        this.flag = flag;
    }

    static int flags(Set<Access> rights) {
        return rights.stream().mapToInt(right -> right.flag).sum();
    }
}
