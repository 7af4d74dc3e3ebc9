// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * What a client is going to do, as its connection request tells the server.
 *
 * <pre>
 *  0        4        8        12       16       20
 *  +--------+--------+--------+--------+--------+
 *  | "RDT1" | work   | bytes  | depth  | count  |   big-endian
 *  +--------+--------+--------+--------+--------+
 * </pre>
 *
 * @param bytes of a message or operation
 * @param depth operations outstanding at once
 * @param count messages each way, or operations, in all
 */
record Plan(Work work, int bytes, int depth, int count) {
    /** Most memory of a side for one plan. */
    static final int MAX_BYTES = 1 << 30;

    static final int MAX_DEPTH = 4096;

    private static final int MAGIC = 0x52445431;
    private static final int ENCODED_BYTES = 20;

    /** What the two sides do. */
    enum Work {
        READ(1),
        WRITE(2),
        SEND(3),
        PINGPONG(4);

        private final int number;

        Work(int number) {
            this.number = number;
        }

        /** Returns the one with this name in small letters. */
        static Work of(String word) {
            return valueOf(word.toUpperCase(Locale.ROOT));
        }

        private static Work of(int number) {
            for (Work work : values()) {
                if (work.number == number) {
                    return work;
                }
            }
            throw new IllegalArgumentException("work " + number + ": there is no such work");
        }
    }

    /** Returns how much memory a side needs: for SENDs there are two receives for each that is outstanding. */
    long memoryBytes() {
        return (long) bytes * depth * (work == Work.SEND ? 2 : 1);
    }

    /** Returns the bytes of a request. */
    byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .putInt(MAGIC)
                .putInt(work.number)
                .putInt(bytes)
                .putInt(depth)
                .putInt(count)
                .array();
    }

    /**
     * Decodes an untrusted request.
     *
     * @throws IllegalArgumentException with the problem as its message
     */
    static Plan decode(byte[] told) {
        ByteBuffer request = ByteBuffer.wrap(told);
        if (told.length < ENCODED_BYTES || request.getInt() != MAGIC) {
            throw new IllegalArgumentException("not a request of this version of Pingpong or Bandwidth");
        }
        Work work = Work.of(request.getInt());
        int bytes = request.getInt();
        int depth = request.getInt();
        int count = request.getInt();
        if (bytes < 1 || depth < 1 || depth > MAX_DEPTH || count < 1) {
            throw new IllegalArgumentException(
                    work + " of " + bytes + " bytes, depth " + depth + ", " + count + " times: there is no such work");
        }
        Plan plan = new Plan(work, bytes, depth, count);
        if (plan.memoryBytes() > MAX_BYTES) {
            throw new IllegalArgumentException(plan + ": at most " + MAX_BYTES + " bytes of memory");
        }
        return plan;
    }

    @Override
    public String toString() {
        return work + " of " + bytes + " bytes, " + depth + " outstanding, " + count + " operations";
    }
}
