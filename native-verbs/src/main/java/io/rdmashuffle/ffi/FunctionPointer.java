// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.CallContext;
import com.kenai.jffi.CallingConvention;
import com.kenai.jffi.Type;

/**
 * The C signatures that function pointers are called with.
 *
 * <p>One context per signature, made once: a call through it creates no object.
 *
 * <p><b>Threading:</b> constants.
 */
final class FunctionPointer {
    private FunctionPointer() {}

    /** A signature whose calls leave errno alone: for functions that return what went wrong. */
    static CallContext returningErrno(Type... parameters) {
        return CallContext.getCallContext(Type.SINT, parameters, CallingConvention.DEFAULT, false);
    }

    /** A signature that returns a pointer and whose calls save errno. */
    static CallContext settingErrno(Type... parameters) {
        return CallContext.getCallContext(Type.POINTER, parameters, CallingConvention.DEFAULT, true);
    }
}
