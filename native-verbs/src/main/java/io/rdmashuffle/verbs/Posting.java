// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;

/** How many requests of a chain were taken. <b>Source:</b> ibv_post_send(3), ibv_post_recv(3). */
final class Posting {
    private Posting() {}

    /**
     * Returns how many requests of a chain were taken.
     *
     * @param error what the post function returned
     * @param size requests in the chain
     * @param firstRefused index of the request that {@code bad_wr} names
     * @throws io.rdmashuffle.ffi.NativeException unless the queue was merely full
     */
    static int taken(int error, int size, int firstRefused, String queue) {
        if (error == 0) {
            return size;
        }
        if (!Errno.ENOMEM.is(error) && !Errno.EAGAIN.is(error)) {
            NativeResult.checkReturned(error, () -> "post of request " + firstRefused + " of " + size + " to " + queue);
        }
        return firstRefused;
    }
}
