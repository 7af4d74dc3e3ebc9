// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.MemoryIO;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import org.jspecify.annotations.Nullable;

/**
 * Copy between arrays and memory with the JVM's intrinsic, which costs a few nanoseconds; jffi's JNI call costs more
 * than the copy of a small block. Without {@code sun.misc.Unsafe}, jffi copies.
 *
 * <p><b>Threading:</b> stateless. <b>Source:</b> {@code sun.misc.Unsafe.copyMemory}, module jdk.unsupported.
 */
final class ArrayCopy {
    private static final MemoryIO IO = MemoryIO.getInstance();
    private static final @Nullable MethodHandle COPY;
    private static final long BASE;

    static {
        MethodHandle copy = null;
        long base = 0;
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object unsafe = field.get(null);
            base = type.getField("ARRAY_BYTE_BASE_OFFSET").getInt(null);
            MethodType signature =
                    MethodType.methodType(void.class, Object.class, long.class, Object.class, long.class, long.class);
            copy = MethodHandles.publicLookup()
                    .findVirtual(type, "copyMemory", signature)
                    .bindTo(unsafe);
            requireAllowed(copy, base);
        } catch (ReflectiveOperationException | RuntimeException e) {
            copy = null;
        }
        COPY = copy;
        BASE = base;
    }

    /** A JVM that denies the method (JEP 498) still has it. */
    private static void requireAllowed(MethodHandle copy, long base) {
        byte[] target = new byte[1];
        copy(copy, new byte[] {1}, base, target, base, 1);
        if (target[0] != 1) {
            throw new IllegalStateException("copyMemory copied nothing");
        }
    }

    private ArrayCopy() {}

    /** Returns whether the JVM copies, and not jffi. */
    static boolean isIntrinsic() {
        return COPY != null;
    }

    /** Copies in one call; callers have checked the range in the array. */
    static void fromMemory(long address, byte[] target, int offset, int length) {
        if (COPY == null) {
            IO.getByteArray(address, target, offset, length);
        } else {
            copy(COPY, null, address, target, BASE + offset, length);
        }
    }

    /** Copies in one call; callers have checked the range in the array. */
    static void toMemory(long address, byte[] source, int offset, int length) {
        if (COPY == null) {
            IO.putByteArray(address, source, offset, length);
        } else {
            copy(COPY, source, BASE + offset, null, address, length);
        }
    }

    /** A null array means an address. */
    private static void copy(
            MethodHandle copy,
            @Nullable Object source,
            long sourceOffset,
            @Nullable Object target,
            long targetOffset,
            long length) {
        try {
            copy.invokeExact(source, sourceOffset, target, targetOffset, length);
        } catch (Throwable e) {
            throw new IllegalStateException("copyMemory failed", e);
        }
    }
}
