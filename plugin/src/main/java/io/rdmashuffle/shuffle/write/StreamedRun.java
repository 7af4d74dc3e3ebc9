// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Spilled records of all partitions in order, without an index. Only partitions with records use space:
 *
 * <pre>
 *  partition (4)   length (8)   records (length)     in the order of partitions
 *  2^31-1 (4)                                        after the last one
 * </pre>
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns the stream.
 */
final class StreamedRun implements SpillRun {
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
    StreamedRun(InputStream in, String name) {
        this.in = new DataInputStream(in);
        this.name = name;
    }

    @Override
    public boolean moveTo(int wanted) throws IOException {
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

    @Override
    public long left() {
        return left;
    }

    @Override
    public void writeTo(OutputStream out, byte[] buffer) throws IOException {
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

    /** Writer of such a run. */
    static final class Writer implements SpillRun.Writer {
        private final DataOutputStream out;

        /** Writes to a stream that is closed with this. */
        Writer(OutputStream out) {
            this.out = new DataOutputStream(out);
        }

        @Override
        public OutputStream begin(int partition, long bytes) throws IOException {
            out.writeInt(partition);
            out.writeLong(bytes);
            return new UnclosedOutput(out);
        }

        @Override
        public @Nullable FrameIndex end() throws IOException {
            out.writeInt(END);
            return null;
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
