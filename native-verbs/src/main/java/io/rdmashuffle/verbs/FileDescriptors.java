// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import java.util.function.Supplier;

/** Non-blocking use of the descriptors of libibverbs and librdmacm. <b>Source:</b> fcntl(2). */
final class FileDescriptors {
    private FileDescriptors() {}

    /** Makes reads return instead of waiting; {@link WaitSet} waits, with a timeout. */
    static void makeNonBlocking(int descriptor) {
        LibC libc = LibC.load();
        int flags = libc.fcntl(descriptor, LibC.F_GETFL, 0);
        NativeResult.checkSet(flags < 0 ? -1 : 0, () -> "fcntl(F_GETFL)");
        if ((flags & LibC.O_NONBLOCK) == 0) {
            NativeResult.checkSet(
                    libc.fcntl(descriptor, LibC.F_SETFL, flags | LibC.O_NONBLOCK), () -> "fcntl(F_SETFL, O_NONBLOCK)");
        }
    }

    /** After a read of a non-blocking descriptor failed: throws unless there was merely nothing to read. */
    static void checkMerelyEmpty(Supplier<String> call) {
        int errno = NativeException.lastErrno();
        if (!Errno.EAGAIN.is(errno) && !Errno.EINTR.is(errno)) {
            throw new NativeException(call.get(), errno, "");
        }
    }
}
