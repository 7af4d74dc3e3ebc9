// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeException;
import java.util.function.Supplier;

/**
 * Conversion of return values of native functions to values or exceptions.
 *
 * <p>libibverbs and librdmacm report failure in three ways, told apart by the method called: an {@code errno} as the
 * result, {@code -1} with {@code errno} set, a null pointer with {@code errno} set.
 *
 * <p><b>Threading:</b> call on the thread that made the native call, with no native call in between.
 */
final class NativeResult {
    private NativeResult() {}

    /** Checks a function that returns 0 or an errno, as the modify and destroy functions of libibverbs. */
    static void checkReturned(int result, Supplier<String> call) {
        if (result != 0) {
            // Some providers return -1 and set errno.
            throw failure(call, result > 0 ? result : NativeException.lastErrno());
        }
    }

    /** Checks a function that returns 0, or -1 with errno set, as all of librdmacm. */
    static void checkSet(int result, Supplier<String> call) {
        if (result != 0) {
            throw failure(call, NativeException.lastErrno());
        }
    }

    /** Checks a function that returns a pointer, null with errno set. */
    static long checkPointer(long pointer, Supplier<String> call) {
        if (pointer == 0) {
            throw failure(call, NativeException.lastErrno());
        }
        return pointer;
    }

    private static NativeException failure(Supplier<String> call, int errno) {
        String text = call.get();
        return new NativeException(text, errno, Remedies.forCall(text, errno));
    }
}
