// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;

/**
 * Receive queue shared by any number of queue pairs, so that receive memory does not grow with the number of peers.
 *
 * <p><b>Threading:</b> thread-safe; receives are posted under a lock of the library.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain}; owns the queue pairs that use it, in so far as closing it
 * closes them first.
 *
 * <p><b>Source:</b> ibv_create_srq(3), ibv_post_srq_recv(3).
 */
public final class SharedReceiveQueue extends NativeResource {
    private final DeviceCalls calls;
    private final NativeBuffer badRequest = new NativeBuffer(Long.BYTES);

    SharedReceiveQueue(NativeResource domain, DeviceCalls calls, long handle) {
        super("shared receive queue of " + calls.deviceName(), handle, domain);
        this.calls = calls;
    }

    /**
     * Posts receives.
     *
     * @param chain the receives
     * @return how many receives were taken, fewer than all when the queue is full
     * @throws io.rdmashuffle.ffi.NativeException if a receive is malformed
     */
    public int post(ReceiveRequests chain) {
        long queue = enter();
        try {
            synchronized (badRequest) {
                badRequest.putLong(0, 0);
                int error = calls.operations().ibv_post_srq_recv(queue, chain.head(), badRequest.address());
                return Posting.taken(error, chain.size(), chain.indexOf(badRequest.getLong(0)), name());
            }
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.verbs().ibv_destroy_srq(handle), () -> "ibv_destroy_srq() of " + name());
        badRequest.close();
    }
}
