// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;

/** Result of a post: the number of accepted requests of a chain. <b>Source:</b> ibv_post_send(3), ibv_post_recv(3). */
final class Posting {
    private Posting() {}

    /**
     * Returns the number of accepted requests of a chain.
     *
     * <p>Of the providers of rdma-core, siw returns its errno as a negative number, and 0 for a full queue if it has
     * told the kernel of the requests before: then only {@code bad_wr} says so. A -1 comes from the system call by
     * which it tells the kernel, whose errno calls like this one do not keep.
     *
     * @param error what the post function returned
     * @param size requests in the chain
     * @param firstRefused index of the request that {@code bad_wr} names, {@code size} if it names none
     * @throws io.rdmashuffle.ffi.NativeException unless the queue was merely full
     */
    static int taken(int error, int size, int firstRefused, String queue) {
        int errno = error == -1 ? Errno.EIO.number() : Math.abs(error);
        if (errno != 0 && !Errno.ENOMEM.is(errno) && !Errno.EAGAIN.is(errno)) {
            NativeResult.checkReturned(
                    errno,
                    () -> firstRefused == size
                            ? "post of " + size + " requests to " + queue
                            : "post of request " + firstRefused + " of " + size + " to " + queue);
        }
        return firstRefused;
    }
}
