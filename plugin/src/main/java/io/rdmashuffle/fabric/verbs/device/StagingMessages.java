// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.RawMemory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Messages between reader and owner about ranges of the owner's disk tier, which a device cannot read.
 *
 * <pre>
 *  question, 16 + n * 16 bytes            answer, 32 bytes                     release, 16 bytes
 *   0  4  magic "SQ01"                     0  4  magic "SA01"                   0  4  magic "SR01"
 *   4  4  number of the question, &gt;= 0     4  4  number of the question         4  4  number of the question
 *   8  4  number of ranges n, 1 to 24      8  4  status                         8  8  zero
 *  12  4  zero                            12  4  bytes staged
 *  16     n times: 4 region, 4 length,    16  8  address
 *         8 offset                        24  4  rkey
 *                                         28  4  ms to read them in    little-endian
 * </pre>
 *
 * The ranges lie one after another at the address, {@value #MAX_BYTES} bytes of them at most. An owner that cannot
 * stage all of them stages the first ones, the last of these perhaps in part; a status other than {@link Status#OK} is
 * about the first range. The time begins when the question is sent, so that the reader's ends before the owner's.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class StagingMessages {
    public static final int MAX_RANGES = 24;

    /** Of one question: 84 us at 100 Gb/s, and little of the owner's memory. */
    public static final int MAX_BYTES = 1 << 20;

    public static final int ANSWER_BYTES = 32;
    public static final int RELEASE_BYTES = 16;
    private static final int HEADER_BYTES = 16;
    private static final int RANGE_BYTES = 16;
    public static final int MAX_QUESTION_BYTES = HEADER_BYTES + MAX_RANGES * RANGE_BYTES;

    private static final int QUESTION_MAGIC = 0x31305153;
    private static final int ANSWER_MAGIC = 0x31304153;
    private static final int RELEASE_MAGIC = 0x31305253;

    private StagingMessages() {}

    /** Outcome of a question. */
    public enum Status {
        /** Bytes lie at the address until they are released, or their time is over. */
        OK(0),
        /** The owner has no room now; the question may be put again. */
        NO_ROOM(1),
        /** The disk does not give the first range. */
        UNREADABLE(2),
        /** The first range is not, or no longer, in the owner's disk tier. */
        UNKNOWN(3);

        private final int code;

        Status(int code) {
            this.code = code;
        }

        private static Status of(int code) {
            for (Status status : values()) {
                if (status.code == code) {
                    return status;
                }
            }
            throw damaged();
        }
    }

    /**
     * A question as the owner reads it.
     *
     * @param id number of the question, at least 0
     * @param ranges of the owner's disk tier, as the reader says; empty if they cannot be
     */
    public record Question(int id, List<RemoteSlice> ranges) {
        public Question {
            ranges = List.copyOf(ranges);
        }
    }

    /**
     * An answer.
     *
     * @param id number of the question
     * @param status what became of it
     * @param bytes how many bytes are staged, at least 1 if the status is OK, else 0
     * @param address of the first one
     * @param key by which they are read
     * @param withinMillis how long after the question was sent the last READ must have completed
     */
    public record Answer(int id, Status status, int bytes, long address, int key, int withinMillis) {
        /** Answers that nothing is staged. */
        public static Answer refusal(int id, Status status) {
            return new Answer(id, status, 0, 0, 0, 0);
        }
    }

    /** Writes one range of a question. */
    public static void writeRange(long target, int index, int regionId, long offset, int lengthBytes) {
        long at = target + HEADER_BYTES + (long) index * RANGE_BYTES;
        RawMemory.putInt(at, regionId);
        RawMemory.putInt(at + 4, lengthBytes);
        RawMemory.putLong(at + 8, offset);
    }

    /** Writes the header before the ranges; returns the length of the question. */
    public static int writeQuestion(long target, int id, int ranges) {
        RawMemory.putInt(target, QUESTION_MAGIC);
        RawMemory.putInt(target + 4, id);
        RawMemory.putInt(target + 8, ranges);
        RawMemory.putInt(target + 12, 0);
        return HEADER_BYTES + ranges * RANGE_BYTES;
    }

    /** Reads a question; null if the bytes are none. */
    public static @Nullable Question readQuestion(long source, int lengthBytes) {
        if (lengthBytes < HEADER_BYTES || RawMemory.getInt(source) != QUESTION_MAGIC) {
            return null;
        }
        int id = RawMemory.getInt(source + 4);
        int count = RawMemory.getInt(source + 8);
        if (id < 0 || count < 1 || count > MAX_RANGES || lengthBytes != HEADER_BYTES + count * RANGE_BYTES) {
            return null;
        }
        List<RemoteSlice> ranges = new ArrayList<>(count);
        long total = 0;
        for (int i = 0; i < count; i++) {
            long at = source + HEADER_BYTES + (long) i * RANGE_BYTES;
            int region = RawMemory.getInt(at);
            int length = RawMemory.getInt(at + 4);
            long offset = RawMemory.getLong(at + 8);
            total += length;
            if (region < 0 || length <= 0 || offset < 0 || total > MAX_BYTES) {
                return new Question(id, List.of());
            }
            ranges.add(new RemoteSlice(region, offset, length));
        }
        return new Question(id, ranges);
    }

    /** Writes an answer; {@code target} has {@value #ANSWER_BYTES} bytes. */
    public static void writeAnswer(long target, Answer answer) {
        RawMemory.putInt(target, ANSWER_MAGIC);
        RawMemory.putInt(target + 4, answer.id());
        RawMemory.putInt(target + 8, answer.status().code);
        RawMemory.putInt(target + 12, answer.bytes());
        RawMemory.putLong(target + 16, answer.address());
        RawMemory.putInt(target + 24, answer.key());
        RawMemory.putInt(target + 28, answer.withinMillis());
    }

    /** Returns whether a message says that it is an answer. */
    public static boolean isAnswer(long source, int lengthBytes) {
        return lengthBytes >= Integer.BYTES && RawMemory.getInt(source) == ANSWER_MAGIC;
    }

    /**
     * Reads an answer.
     *
     * @throws IllegalArgumentException if it is none, or its numbers cannot be
     */
    public static Answer readAnswer(long source, int lengthBytes) {
        if (lengthBytes != ANSWER_BYTES || !isAnswer(source, lengthBytes)) {
            throw damaged();
        }
        Answer answer = new Answer(
                RawMemory.getInt(source + 4),
                Status.of(RawMemory.getInt(source + 8)),
                RawMemory.getInt(source + 12),
                RawMemory.getLong(source + 16),
                RawMemory.getInt(source + 24),
                RawMemory.getInt(source + 28));
        boolean staged = answer.status() == Status.OK;
        boolean sound = answer.id() >= 0
                && (staged ? answer.bytes() > 0 && answer.bytes() <= MAX_BYTES : answer.bytes() == 0)
                && answer.withinMillis() >= 0;
        if (!sound) {
            throw damaged();
        }
        return answer;
    }

    private static IllegalArgumentException damaged() {
        return new IllegalArgumentException("the peer's answer to the staging question is damaged");
    }

    /** Writes a release; {@code target} has {@value #RELEASE_BYTES} bytes. */
    public static void writeRelease(long target, int id) {
        RawMemory.putInt(target, RELEASE_MAGIC);
        RawMemory.putInt(target + 4, id);
        RawMemory.putLong(target + 8, 0);
    }

    /** Reads a release; returns the number of the question, -1 if the bytes are none. */
    public static int readRelease(long source, int lengthBytes) {
        if (lengthBytes != RELEASE_BYTES || RawMemory.getInt(source) != RELEASE_MAGIC) {
            return -1;
        }
        return Math.max(-1, RawMemory.getInt(source + 4));
    }
}
