// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

/** Scala's methods throw checked exceptions without declaring them, so what overrides or calls them must be able to. */
public final class Unchecked {
    private Unchecked() {}

    /** Throws a failure as it is; declared to return so that callers can say {@code throw}. */
    public static RuntimeException raise(Throwable failure) {
        throw Unchecked.<RuntimeException>as(failure);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E as(Throwable failure) throws E {
        throw (E) failure;
    }
}
