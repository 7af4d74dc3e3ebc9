// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * A run of spilled records while it is read from its first partition to its last. It needs no index, however many
 * partitions there are, and only those that have records take room:
 *
 * <pre>
 *  partition (4)   length (8)   records (length)     in the order of partitions
 *  2^31-1 (4)                                        after the last one
 * </pre>
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns the stream.
 */
final class SpillRun implements AutoCloseable {
    private static final int END = Integer.MAX_VALUE;

    private final DataInputStream in;
    private final String name;
    private int partition = -1;
    private long left;

    /**
     * Begins before the first partition.
     *
     * @param name for messages
     */
    SpillRun(InputStream in, String name) {
        this.in = new DataInputStream(in);
        this.name = name;
    }

    /** Begins a partition of a run that is written; as many bytes must follow. */
    static void begin(DataOutputStream out, int partition, long length) throws IOException {
        out.writeInt(partition);
        out.writeLong(length);
    }

    /** Ends a run that is written. */
    static void end(DataOutputStream out) throws IOException {
        out.writeInt(END);
    }

    /** Goes to the first partition not below this one that has records; returns whether it is this one. */
    boolean moveTo(int wanted) throws IOException {
        while (partition < wanted) {
            in.skipNBytes(left);
            int next = in.readInt();
            left = next == END ? 0 : in.readLong();
            if (next <= partition || left < 0) {
                throw new IOException(name + ": " + left + " bytes of partition " + next + " after partition "
                        + partition + " in spilled records");
            }
            partition = next;
        }
        return partition == wanted;
    }

    /** Returns the bytes that are left of the partition. */
    long left() {
        return left;
    }

    /** Writes what is left of the partition, through a buffer. */
    void writeTo(OutputStream out, byte[] buffer) throws IOException {
        while (left > 0) {
            int part = (int) Math.min(left, buffer.length);
            in.readFully(buffer, 0, part);
            out.write(buffer, 0, part);
            left -= part;
        }
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
