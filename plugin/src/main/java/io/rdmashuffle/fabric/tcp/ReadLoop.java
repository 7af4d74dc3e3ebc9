// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.WorkTally;
import io.rdmashuffle.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread that reads from peers, with the resources that its connections share.
 *
 * <p><b>Threading:</b> {@link #submit} and {@link #close} may be called by any thread, everything else by the loop's.
 *
 * <p><b>Ownership:</b> owns its selector loop, which closes the connections.
 */
final class ReadLoop implements SelectorLoop.Work, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ReadLoop.class);

    /** Requests of one system call. */
    static final int OUT_BYTES = 32 << 10;

    private static final int KEPT_READS = 1024;
    private static final int KEPT_BUFFERS = 16;

    private final SelectorLoop selector;
    private final TcpSettings settings;
    private final InFlightReads reads;
    private final WorkTally tally = new WorkTally();
    private final RegionBuffers buffers = new RegionBuffers();
    private final ArrayDeque<ByteBuffer> outBuffers = new ArrayDeque<>(KEPT_BUFFERS);
    private final List<PendingRead.Connection> touched = new ArrayList<>();
    private final LogLimit<String> unreachable = new LogLimit<>(System::nanoTime);

    /** Reads handed over, oldest first, and reads to be used again. Guarded by this. */
    private @Nullable PendingRead first;

    private @Nullable PendingRead last;
    private final ArrayDeque<PendingRead> free = new ArrayDeque<>(KEPT_READS);
    private boolean ended;

    ReadLoop(String name, TcpSettings settings, InFlightReads reads) throws IOException {
        this.settings = settings;
        this.reads = reads;
        this.selector = new SelectorLoop(name, this);
        selector.start();
    }

    /** Warns, once a minute, of a peer that cannot be reached; the others may be like it. */
    void warnOfUnreachable(String peerId, String why) {
        if (unreachable.take("connect") != LogLimit.SILENT) {
            LOG.warn(
                    "Cannot read from executor {} over TCP: {}; Spark's block transfer serves its blocks. Where a"
                            + " firewall is between hosts, set a port and open it (spark.shuffle.rdma.fabric.tcp.port)",
                    peerId,
                    why);
        }
    }

    SelectorLoop selector() {
        return selector;
    }

    TcpSettings settings() {
        return settings;
    }

    InFlightReads reads() {
        return reads;
    }

    WorkTally tally() {
        return tally;
    }

    RegionBuffers buffers() {
        return buffers;
    }

    /** Passes on an admitted request, to be sent over a connection of this loop. */
    void submit(ReadRequest request, PendingRead.Connection connection) {
        boolean accepted;
        boolean wasEmpty = false;
        synchronized (this) {
            accepted = !ended;
            if (accepted) {
                PendingRead kept = free.poll();
                PendingRead read = kept == null ? new PendingRead() : kept;
                read.start(request, connection);
                wasEmpty = first == null;
                if (last == null) {
                    first = read;
                } else {
                    last.next = read;
                }
                last = read;
            }
        }
        if (!accepted) {
            connection.ended(request);
            reads.fail(request, Reason.CLOSED, "the TCP fabric is closed");
        } else if (wasEmpty) {
            selector.wake();
        }
    }

    /** Sends the reads of the queue. */
    @Override
    public boolean step() {
        tally.woken();
        PendingRead read;
        synchronized (this) {
            read = first;
            first = null;
            last = null;
        }
        while (read != null) {
            PendingRead next = read.next;
            PendingRead.Connection connection = read.connection();
            if (connection.add(read)) {
                touched.add(connection);
            }
            read = next;
        }
        boolean any = !touched.isEmpty();
        for (int i = 0; i < touched.size(); i++) {
            touched.get(i).send();
        }
        touched.clear();
        return any;
    }

    /** Completes a read and keeps the object for another. */
    void succeed(PendingRead read) {
        ReadRequest request = read.request();
        long started = read.startedNanos();
        read.connection().ended(request);
        recycle(read);
        reads.succeed(request, started);
    }

    /** Fails a read and keeps the object for another. */
    void fail(PendingRead read, Reason reason, String message) {
        ReadRequest request = read.request();
        read.connection().ended(request);
        recycle(read);
        reads.fail(request, reason, message);
    }

    private synchronized void recycle(PendingRead read) {
        read.clear();
        if (free.size() < KEPT_READS) {
            free.push(read);
        }
    }

    /** Lends a buffer for requests. */
    ByteBuffer lendBuffer() {
        ByteBuffer kept = outBuffers.poll();
        return kept == null ? ByteBuffer.allocateDirect(OUT_BYTES).order(ByteOrder.LITTLE_ENDIAN) : kept.clear();
    }

    void returnBuffer(ByteBuffer buffer) {
        if (outBuffers.size() < KEPT_BUFFERS) {
            outBuffers.push(buffer);
        }
    }

    /** Drops the buffers over a region that has no lease any more. */
    void forget(Region region) {
        buffers.forget(region);
    }

    @Override
    public void end() {
        PendingRead read;
        synchronized (this) {
            ended = true;
            read = first;
            first = null;
            last = null;
        }
        while (read != null) {
            PendingRead next = read.next;
            fail(read, Reason.CLOSED, "the TCP fabric is closed");
            read = next;
        }
        buffers.close();
    }

    @Override
    public void close() {
        selector.close();
    }
}
