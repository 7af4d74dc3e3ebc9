// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.LastError;

/**
 * Failure of a native call: function, arguments, error name and number, and remedy.
 *
 * <p>The only conversion from return codes to exceptions. Message:
 * {@code call: ENOMEM (12) Cannot allocate memory; remedy}.
 */
public final class NativeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int errno;

    /**
     * Describes a failure.
     *
     * @param call the function with its arguments as text, for example {@code mmap(length=4096)}
     * @param errno the error number it left
     * @param remedy what the user can do about it; empty if none is known
     */
    public NativeException(String call, int errno, String remedy) {
        super(call + ": " + Errno.describe(errno) + " " + LibC.load().strerror(errno)
                + (remedy.isEmpty() ? "" : "; " + remedy));
        this.errno = errno;
    }

    /** {@return the error number that the call left} */
    public int errno() {
        return errno;
    }

    /** {@return the {@code errno} of this thread's last native call; read it before making another} */
    public static int lastErrno() {
        return LastError.getInstance().get();
    }
}
