// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadMeter;
import io.rdmashuffle.fabric.ReadRequest;
import java.util.concurrent.ArrayBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads in flight, with a pool of their state objects.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class PendingReads {
    private static final Logger LOG = LoggerFactory.getLogger(PendingReads.class);
    private static final int KEPT = 4096;

    private final InFlightReads reads;
    private final ArrayBlockingQueue<PendingRead> free = new ArrayBlockingQueue<>(KEPT);

    /** Bounds the bytes being read at once. */
    public PendingReads(long maxBytesInFlight) {
        this.reads = new InFlightReads(maxBytesInFlight);
    }

    /** Returns the counters of reads and of the connections that they go over. */
    public ReadMeter meter() {
        return reads.meter();
    }

    /** Returns the reads in flight, and the failures since the start. */
    public FabricLoad load() {
        return reads.load();
    }

    /** Has a request started now or when there is room in flight, as {@link InFlightReads#admit} does. */
    public boolean admit(ReadRequest request, InFlightReads.Starter starter) {
        return reads.admit(request, starter);
    }

    /** Lends an object for an admitted request. */
    public PendingRead begin(ReadRequest request, PendingRead.Channels channels) {
        PendingRead kept = free.poll();
        PendingRead read = kept == null ? new PendingRead() : kept;
        read.start(request, channels, System.nanoTime());
        return read;
    }

    /** Ends a read of which everything that was posted has arrived. */
    void succeed(PendingRead read) {
        ReadFailedException doom = read.doom();
        if (doom != null) {
            fail(read, doom);
            return;
        }
        ReadRequest request = read.request();
        long started = read.startedNanos();
        recycle(read);
        reads.succeed(request, started);
    }

    /** Ends a read that failed; the device must not be able to write into its target any more. */
    public void fail(PendingRead read, ReadFailedException failure) {
        if (read.isOutstanding()) {
            LOG.error("A read failed while pieces of it are outstanding; its receive memory is kept");
            abandon(read, failure);
            return;
        }
        ReadRequest request = read.request();
        recycle(read);
        reads.fail(request, failure);
    }

    /** Ends a read whose target the device may still write into: its listener is notified, and the target is kept. */
    void abandon(PendingRead read, ReadFailedException failure) {
        reads.abandon(read.request(), failure);
    }

    private void recycle(PendingRead read) {
        read.clear();
        free.offer(read);
    }
}
