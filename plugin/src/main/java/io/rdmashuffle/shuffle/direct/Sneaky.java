package io.rdmashuffle.shuffle.direct;

/** Spark's exceptions are checked for Java, and undeclared where they come through. */
final class Sneaky {
    private Sneaky() {}

    /** Throws a failure as it is; declared to return so that callers can say {@code throw}. */
    static RuntimeException raise(Throwable failure) {
        throw Sneaky.<RuntimeException>as(failure);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E as(Throwable failure) throws E {
        throw (E) failure;
    }
}
