// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/**
 * Registered memory.
 *
 * <p><b>Threading:</b> immutable but for close.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain}; the memory itself is the caller's and must outlive this.
 * After close no device reads or writes it: closing takes the rkey back.
 *
 * <p><b>Source:</b> ibv_reg_mr(3), ibv_dereg_mr(3).
 */
public final class MemoryRegion extends NativeResource {
    private final ProtectionDomain domain;
    private final DeviceCalls calls;
    private final long address;
    private final long lengthBytes;
    private final int localKey;
    private final int remoteKey;

    MemoryRegion(
            ProtectionDomain domain,
            DeviceCalls calls,
            long handle,
            long address,
            long lengthBytes,
            int localKey,
            int remoteKey) {
        super("memory region of " + lengthBytes + " bytes on " + calls.deviceName(), handle, domain);
        this.domain = domain;
        this.calls = calls;
        this.address = address;
        this.lengthBytes = lengthBytes;
        this.localKey = localKey;
        this.remoteKey = remoteKey;
    }

    /** {@return the protection domain that this region was registered in} */
    public ProtectionDomain domain() {
        return domain;
    }

    /** {@return the first byte, as this process sees it; requests of peers name it by the same number} */
    public long address() {
        return address;
    }

    /** {@return the length that was registered} */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** {@return the lkey, which names this region in the local part of a request} */
    public int localKey() {
        return localKey;
    }

    /** {@return the rkey, which a peer needs; on some devices another number than the lkey} */
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.verbs().ibv_dereg_mr(handle), () -> "ibv_dereg_mr() of " + name());
    }
}
