// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;
import java.util.Objects;

/**
 * Registered memory.
 *
 * <p><b>Threading:</b> immutable but for close.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain}; the memory itself is the caller's and must outlive this.
 * After close no device reads or writes it: closing takes the rkey back.
 *
 * <p><b>Source:</b> ibv_reg_mr(3), ibv_dereg_mr(3), ibv_advise_mr(3).
 */
public final class MemoryRegion extends NativeResource {
    /** Lengths of a piece are 32 bits; whole pages, so that no page is in two. */
    private static final long MAX_RANGE_BYTES = 1L << 30;

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

    /**
     * Advises the device about a part of this region, which is worth it with {@link Access#ON_DEMAND}: the first access
     * to a page that the device has not seen costs a fault, and the peer waits for it.
     *
     * @param advice what to do with the pages
     * @param start address of the first byte, in this region
     * @param length bytes, at least 1
     * @param wait whether to return when the pages are there; if not, failures stay unknown
     * @throws io.rdmashuffle.ffi.NativeException EOPNOTSUPP: the device takes no advice; with {@code wait} EFAULT: the
     *     memory is not mapped
     */
    public void advise(Advice advice, long start, long length, boolean wait) {
        Objects.checkFromIndexSize(start - address, length, lengthBytes);
        enter();
        int ranges = (int) ((length + MAX_RANGE_BYTES - 1) / MAX_RANGE_BYTES);
        try (NativeBuffer list = new NativeBuffer((long) Math.max(1, ranges) * ibv_sge.SIZEOF)) {
            for (int i = 0; i < ranges; i++) {
                long from = i * MAX_RANGE_BYTES;
                int bytes = (int) Math.min(MAX_RANGE_BYTES, length - from);
                ScatterGather.put(list.address((long) i * ibv_sge.SIZEOF), start + from, bytes, localKey);
            }
            NativeResult.checkReturned(
                    calls.operations()
                            .ibv_advise_mr(
                                    domain.handle(),
                                    advice.number,
                                    wait ? VerbsConstants.IBV_ADVISE_MR_FLAG_FLUSH : 0,
                                    list.address(),
                                    ranges),
                    () -> "ibv_advise_mr(" + advice + ", length=" + length + ") of " + name());
        } finally {
            exit();
        }
    }

    /** Advice to the device about the pages of a region. */
    public enum Advice {
        /** Maps them for reading. */
        PREFETCH(VerbsConstants.IBV_ADVISE_MR_ADVICE_PREFETCH),
        /** Maps them for writing: target of READs, WRITEs and receives. */
        PREFETCH_FOR_WRITE(VerbsConstants.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE),
        /** Maps resident pages, without faults. */
        PREFETCH_PRESENT(VerbsConstants.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);

        private final int number;

        Advice(int number) {
            this.number = number;
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.verbs().ibv_dereg_mr(handle), () -> "ibv_dereg_mr() of " + name());
    }
}
