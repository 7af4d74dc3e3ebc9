// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.BlockRange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The index of a map output on its way from a decommissioned executor to its new home: Spark's index file, and behind
 * it what that lacks. Spark reads its index files by position and never looks behind the last offset.
 *
 * <pre>
 *    offset   bytes     big-endian, as Spark's index file; P partitions
 *         0   8 (P+1)   offset where partition p starts; the last one is the length
 *  8P +   8   4 P       CRC-32C of partition p's bytes, by the task that wrote them
 * 12P +   8   8         milliseconds since the output was written
 * 12P +  16   4         P
 * 12P +  20   4         version, 1
 * 12P +  24   8         magic "RDMAMIG1"
 * 12P +  32   4         CRC-32C of everything before
 * </pre>
 *
 * An output that its sender has in files comes with Spark's part only.
 *
 * <p><b>Threading:</b> immutable; the arrays are not copied and must not be written.
 *
 * @param lengths bytes by partition
 * @param checksums CRC-32C by partition; null if the sender has none
 * @param age how long before it was sent the output was written; zero if the sender does not know
 */
@SuppressWarnings("ArrayRecordComponent")
record MigratedIndex(long[] lengths, int @Nullable [] checksums, Duration age) {
    /** No index that a driver could plan a stage for is longer; 5.5 million partitions fit. */
    static final int MAX_BYTES = 64 << 20;

    private static final long MAGIC = 0x52444D414D494731L;
    private static final int VERSION = 1;
    private static final int TRAILER_BYTES = 28;
    /** Older than any application; keeps nanoseconds within a long. */
    private static final long MAX_AGE_MILLIS = Duration.ofDays(10_000).toMillis();

    private static final int MAGIC_FROM_END = 12;
    private static final int BYTES_PER_PARTITION = Long.BYTES + Integer.BYTES;

    /** Returns the bytes of all partitions. */
    long totalBytes() {
        return LongStream.of(lengths).sum();
    }

    /** Encodes the index of an output in the pool, all of whose partitions {@code all} are. */
    static ByteBuffer encode(BlockRange all, Duration age) {
        int partitions = all.lengths().length;
        ByteBuffer out =
                ByteBuffer.allocate(Math.addExact(Long.BYTES + TRAILER_BYTES, partitions * BYTES_PER_PARTITION));
        long offset = 0;
        out.putLong(offset);
        for (long length : all.lengths()) {
            offset += length;
            out.putLong(offset);
        }
        for (int checksum : all.checksums()) {
            out.putInt(checksum);
        }
        out.putLong(age.toMillis()).putInt(partitions).putInt(VERSION).putLong(MAGIC);
        return out.putInt(crc(out.array(), out.position())).flip();
    }

    /**
     * Decodes what {@link #encode} made, or one of Spark's index files.
     *
     * @throws IOException if it is neither, saying why
     */
    static MigratedIndex decode(byte[] bytes) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int partitions = bytes.length / Long.BYTES - 1;
        boolean summed = bytes.length >= TRAILER_BYTES && in.getLong(bytes.length - MAGIC_FROM_END) == MAGIC;
        if (summed) {
            partitions = partitionsOf(in, bytes);
        } else if (bytes.length % Long.BYTES != 0 || partitions < 1) {
            throw new IOException(
                    "migrated index of " + bytes.length + " bytes is neither whole nor one of Spark's index files");
        }
        long[] lengths = new long[partitions];
        long previous = in.getLong();
        if (previous != 0) {
            throw new IOException("migrated index begins at " + previous + " instead of 0");
        }
        for (int p = 0; p < partitions; p++) {
            long next = in.getLong();
            lengths[p] = next - previous;
            if (lengths[p] < 0) {
                throw new IOException("migrated index gives partition " + p + " a negative length");
            }
            previous = next;
        }
        if (!summed) {
            return new MigratedIndex(lengths, null, Duration.ZERO);
        }
        int[] checksums = new int[partitions];
        in.slice(in.position(), Integer.BYTES * partitions).asIntBuffer().get(checksums);
        long ageMillis = in.getLong(bytes.length - TRAILER_BYTES);
        return new MigratedIndex(
                lengths, checksums, Duration.ofMillis(Math.min(Math.max(0, ageMillis), MAX_AGE_MILLIS)));
    }

    private static int partitionsOf(ByteBuffer in, byte[] bytes) throws IOException {
        int crcOffset = bytes.length - Integer.BYTES;
        int partitions = in.getInt(bytes.length - TRAILER_BYTES + Long.BYTES);
        int version = in.getInt(bytes.length - TRAILER_BYTES + Long.BYTES + Integer.BYTES);
        if (in.getInt(crcOffset) != crc(bytes, crcOffset)) {
            throw new IOException("migrated index of " + bytes.length + " bytes has a wrong checksum");
        }
        if (version != VERSION) {
            throw new IOException("migrated index of version " + version + ", not " + VERSION
                    + "; give every executor the same jar of the plugin");
        }
        if (partitions < 1 || Long.BYTES + TRAILER_BYTES + (long) BYTES_PER_PARTITION * partitions != bytes.length) {
            throw new IOException("migrated index of " + bytes.length + " bytes claims " + partitions + " partitions");
        }
        return partitions;
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }
}
