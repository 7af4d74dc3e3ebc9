// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.time.Duration;

/**
 * Bounds and timeouts of an endpoint: start from {@link #DEFAULT} and change what should differ.
 *
 * @param maxInFlight most operations other than receives outstanding per connection. 64 READs of 16 KiB cover 1 MiB,
 *     the product of 10 Gb/s and 800 us
 * @param maxReceives most receives posted per connection
 * @param maxCompletions entries of a progress thread's completion queue, which its connections share; each takes
 *     {@code maxInFlight + maxReceives}, so 4096 are 32 connections with the other defaults
 * @param inlineBytes longest {@code send(byte[])}
 * @param maxPieces most pieces of local memory in one operation; the device may allow fewer
 * @param operationTimeout timeout of an operation other than a receive; when it passes, the connection ends
 * @param busyPoll whether progress threads spin on their completion queues rather than sleeping until the device wakes
 *     them: a core each for some microseconds less per operation
 * @param progressThreads threads that drive connections, each one of them on one thread
 */
public record EndpointOptions(
        int maxInFlight,
        int maxReceives,
        int maxCompletions,
        int inlineBytes,
        int maxPieces,
        Duration operationTimeout,
        boolean busyPoll,
        int progressThreads) {

    /** The defaults; sleeping, not spinning. */
    public static final EndpointOptions DEFAULT =
            new EndpointOptions(64, 64, 4096, 64, 4, Duration.ofSeconds(30), false, 1);

    /**
     * Checks ranges.
     *
     * @param maxInFlight at least 1
     * @param maxReceives at least 1
     * @param maxCompletions at least {@code maxInFlight + maxReceives}
     * @param inlineBytes at least 1
     * @param maxPieces at least 1
     * @param operationTimeout positive, and not longer than 292 years
     * @param busyPoll either
     * @param progressThreads at least 1
     * @throws IllegalArgumentException naming the option that is out of range
     */
    public EndpointOptions {
        requirePositive("maxInFlight", maxInFlight);
        requirePositive("maxReceives", maxReceives);
        requirePositive("inlineBytes", inlineBytes);
        requirePositive("maxPieces", maxPieces);
        requirePositive("progressThreads", progressThreads);
        if (operationTimeout.isNegative() || operationTimeout.isZero()) {
            throw new IllegalArgumentException(
                    "operationTimeout of " + operationTimeout.toMillis() + " ms: must be positive");
        }
        requireCountable("operationTimeout", operationTimeout);
        if (maxCompletions < maxInFlight + maxReceives) {
            throw new IllegalArgumentException("maxCompletions " + maxCompletions + ": must be at least maxInFlight + "
                    + "maxReceives, " + (maxInFlight + maxReceives));
        }
    }

    /** Refuses a time that has more nanoseconds than a long can count. */
    static void requireCountable(String name, Duration time) {
        if (time.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) {
            throw new IllegalArgumentException(name + " of " + time + ": longer than 292 years");
        }
    }

    /**
     * {@return these options with another bound of operations in flight per connection}
     *
     * @param operations at least 1
     */
    public EndpointOptions withMaxInFlight(int operations) {
        return new EndpointOptions(
                operations,
                maxReceives,
                maxCompletions,
                inlineBytes,
                maxPieces,
                operationTimeout,
                busyPoll,
                progressThreads);
    }

    /**
     * {@return these options with another bound of pieces of local memory in one operation}
     *
     * @param pieces at least 1
     */
    public EndpointOptions withMaxPieces(int pieces) {
        return new EndpointOptions(
                maxInFlight,
                maxReceives,
                maxCompletions,
                inlineBytes,
                pieces,
                operationTimeout,
                busyPoll,
                progressThreads);
    }

    /**
     * {@return these options with another timeout of operations}
     *
     * @param timeout positive
     */
    public EndpointOptions withOperationTimeout(Duration timeout) {
        return new EndpointOptions(
                maxInFlight, maxReceives, maxCompletions, inlineBytes, maxPieces, timeout, busyPoll, progressThreads);
    }

    /**
     * {@return these options with or without busy polling}
     *
     * @param spin whether the progress thread spins
     */
    public EndpointOptions withBusyPoll(boolean spin) {
        return new EndpointOptions(
                maxInFlight,
                maxReceives,
                maxCompletions,
                inlineBytes,
                maxPieces,
                operationTimeout,
                spin,
                progressThreads);
    }

    /**
     * {@return these options with another number of progress threads}
     *
     * @param threads at least 1; with busy polling at most the cores that can be spared
     */
    public EndpointOptions withProgressThreads(int threads) {
        return new EndpointOptions(
                maxInFlight, maxReceives, maxCompletions, inlineBytes, maxPieces, operationTimeout, busyPoll, threads);
    }

    static void requirePositive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " " + value + ": must be at least 1");
        }
    }
}
