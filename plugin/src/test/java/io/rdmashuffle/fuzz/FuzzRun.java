// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fuzz;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/**
 * Counts what becomes of damaged input: refused with an exception that the format names, or accepted and harmless.
 * Anything else fails the test, with the seed and the input.
 *
 * <p>{@code -Dfuzz.seed=n} repeats a run, {@code -Dfuzz.factor=n} tries n times as many random cases.
 *
 * <p><b>Threading:</b> none; for one thread, whose allocations it measures.
 */
public final class FuzzRun implements AutoCloseable {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Allowance for allocations that do not depend on the input: assertions and messages. */
    private static final long ALLOCATED_AT_MOST = 1 << 20;

    /** A record of 64 bytes becomes a few small objects. */
    private static final long ALLOCATED_PER_BYTE = 64;

    private static final int SHOWN_BYTES = 512;

    private final String format;
    private final List<Class<? extends Exception>> refusals = new ArrayList<>();
    private final long seed;
    private final Random random;
    private long tried;
    private long refused;
    private long harmless;

    /** One case: returns whether the input was accepted, throws a refusal if it was not. */
    @FunctionalInterface
    public interface Attempt {
        /** Decodes and uses what came of it; false if the format refuses without an exception. */
        boolean run() throws Exception;
    }

    /**
     * Starts counting.
     *
     * @param refusals what the format's decoder may throw
     */
    @SafeVarargs
    public FuzzRun(String format, Class<? extends Exception>... refusals) {
        this.format = format;
        for (Class<? extends Exception> refusal : refusals) {
            this.refusals.add(refusal);
        }
        this.seed = Long.getLong("fuzz.seed", new Random().nextLong());
        this.random = new Random(seed);
    }

    /** Returns the seeded source of everything random. */
    public Random random() {
        return random;
    }

    /** Returns how many random cases to try where {@code byDefault} are enough for every build. */
    public int times(int byDefault) {
        return Math.multiplyExact(byDefault, Integer.getInteger("fuzz.factor", 1));
    }

    /** Tries one input. */
    public void attempt(byte[] input, Attempt attempt) {
        attempt(() -> shown(input), input.length, attempt);
    }

    /**
     * Tries one case.
     *
     * @param what the input in words, for a failure
     * @param inputBytes length of the input, which bounds allocations
     */
    public void attempt(Supplier<String> what, long inputBytes, Attempt attempt) {
        tried++;
        long bound = ALLOCATED_AT_MOST + ALLOCATED_PER_BYTE * inputBytes;
        long before = THREADS.getCurrentThreadAllocatedBytes();
        boolean accepted = isAccepted(what, attempt);
        if (THREADS.getCurrentThreadAllocatedBytes() - before > bound) {
            // Classes that were loaded count too, but only once.
            before = THREADS.getCurrentThreadAllocatedBytes();
            accepted = isAccepted(what, attempt);
            long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            if (allocated > bound) {
                throw new AssertionError(failure(what, "allocated " + allocated + " bytes"));
            }
        }
        if (accepted) {
            harmless++;
        } else {
            refused++;
        }
    }

    private boolean isAccepted(Supplier<String> what, Attempt attempt) {
        try {
            return attempt.run();
        } catch (Throwable e) {
            String message = e.getMessage();
            boolean clear = message != null && message.length() > 10;
            if (clear && refusals.stream().anyMatch(refusal -> refusal.isInstance(e))) {
                return false;
            }
            throw new AssertionError(failure(what, "ended in " + e), e);
        }
    }

    /** Returns how many cases were accepted so far. */
    public long harmless() {
        return harmless;
    }

    /** Returns how many cases were refused so far. */
    public long refused() {
        return refused;
    }

    private String failure(Supplier<String> what, String how) {
        return format + ", -Dfuzz.seed=" + seed + ", case " + tried + " " + how + "; input: " + what.get();
    }

    private static String shown(byte[] input) {
        int length = Math.min(SHOWN_BYTES, input.length);
        return input.length + " bytes " + HexFormat.of().formatHex(input, 0, length);
    }

    /** Prints the figures in one line. */
    @Override
    public void close() {
        System.out.printf(
                "fuzz %s: %d cases tried, %d survived (%d refused, %d accepted as harmless), seed %d%n",
                format, tried, refused + harmless, refused, harmless, seed);
    }
}
