// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import io.rdmashuffle.ffi.NativeException;
import org.jspecify.annotations.Nullable;

/**
 * Memory that an endpoint reads into, or that peers read.
 *
 * <p><b>Threading:</b> immutable but for close.
 *
 * <p><b>Ownership:</b> its registrant closes it, before the endpoint; the memory itself is the registrant's and must
 * outlive this. After close no peer reads it: closing takes the key back.
 *
 * <p><b>Source:</b> fi_mr(3).
 */
public final class OfiRegion implements AutoCloseable {
    private final Runnable end;
    private final long remoteBase;
    private final long lengthBytes;
    private final long key;
    private final long descriptor;
    private boolean closed;
    private @Nullable NativeException failure;

    OfiRegion(Runnable end, long remoteBase, long lengthBytes, long key, long descriptor) {
        this.end = end;
        this.remoteBase = remoteBase;
        this.lengthBytes = lengthBytes;
        this.key = key;
        this.descriptor = descriptor;
    }

    /** {@return how peers name the first byte: its address, or 0 where the provider counts from the start} */
    public long remoteBase() {
        return remoteBase;
    }

    /** {@return the length that was registered} */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** {@return the key that a peer needs} */
    public long key() {
        return key;
    }

    /** Returns the local descriptor; 0 where the provider needs none. */
    long descriptor() {
        return descriptor;
    }

    /**
     * {@inheritDoc}
     *
     * @throws io.rdmashuffle.ffi.NativeException if the provider refuses, also on later calls: it may have freed the
     *     object all the same
     */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                end.run();
            } catch (NativeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
