// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.fabric.WorkTally;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The link by which an executor receives: one request after another, each after the delay of the link and for as long
 * as its bytes occupy it. Bytes are copied when their turn begins and handed over when it ends, at the earliest: a
 * thread that sleeps wakes some 50 us late.
 *
 * <p><b>Threading:</b> thread-safe; one thread, named {@link LinkModel#THREAD}, copies and completes.
 *
 * <p><b>Ownership:</b> owns that thread. Closing fails pending reads.
 */
final class ModelledLink implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ModelledLink.class);
    private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long CLOSE_MILLIS = 10_000;

    /** Of a single READ, and READs of a chain, as the verbs fabric has them. */
    private static final long READ_BYTES = 1 << 20;

    private static final int CHAIN_READS = 32;

    private final LinkModel model;
    private final InFlightReads reads;
    private final LongSupplier nanoClock;
    /** At most the bytes in flight. */
    private final BlockingQueue<Posted> posted = new LinkedBlockingQueue<>();

    private final Queue<Arrival> underWay = new ArrayDeque<>();
    private final WorkTally tally = new WorkTally();
    private final Thread thread = new Thread(this::run, LinkModel.THREAD);
    private long freeAt;
    private volatile boolean closed;

    /** A request that was handed to the device. */
    private record Posted(Peer owner, ReadRequest request, long nanos) {}

    /** A request whose bytes have been copied, or not, and that is to end at a time. */
    private record Arrival(Posted posted, @Nullable ReadFailedException failure, long nanos) {}

    ModelledLink(LinkModel model, InFlightReads reads, LongSupplier nanoClock) {
        this.model = model;
        this.reads = reads;
        this.nanoClock = nanoClock;
        this.freeAt = nanoClock.getAsLong();
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /**
     * Posts a request, now or when there is room in flight.
     *
     * @param owner shows the memory that is read
     */
    boolean post(Peer owner, ReadRequest request) {
        return reads.admit(request, admitted -> start(owner, admitted));
    }

    private void start(Peer owner, ReadRequest request) {
        count(request);
        posted.add(new Posted(owner, request, nanoClock.getAsLong()));
        if (closed) {
            failPosted();
        }
    }

    private void count(ReadRequest request) {
        int reads = request.sources().stream()
                .mapToInt(slice -> Math.toIntExact((slice.lengthBytes() + READ_BYTES - 1) / READ_BYTES))
                .sum();
        for (int left = reads; left > 0; left -= CHAIN_READS) {
            tally.posted(Math.min(left, CHAIN_READS));
        }
    }

    /** Returns what a device would have had to do; each request has one completion. */
    FabricWork work() {
        return tally.work();
    }

    private void run() {
        try {
            while (!closed) {
                step();
            }
        } catch (InterruptedException e) {
            LOG.debug("The modelled link ends", e);
        } finally {
            underWay.forEach(arrival -> finish(arrival.posted(), closedFailure()));
            failPosted();
        }
    }

    /** Completes due reads, or starts a request, or waits for either. */
    private void step() throws InterruptedException {
        Arrival first = underWay.peek();
        long wait = first == null ? IDLE_NANOS : first.nanos() - nanoClock.getAsLong();
        if (first != null && wait <= 0) {
            underWay.remove();
            finish(first.posted(), first.failure());
            return;
        }
        Posted next = posted.poll();
        if (next == null) {
            next = posted.poll(wait, TimeUnit.NANOSECONDS);
            tally.woken();
        }
        if (next != null) {
            underWay.add(move(next));
        }
    }

    private Arrival move(Posted next) {
        ReadFailedException failure = null;
        try {
            if (next.request().isExpired()) {
                throw new ReadFailedException(Reason.TIMED_OUT, "deadline passed before the read began");
            }
            copy(next.owner(), next.request());
        } catch (ReadFailedException e) {
            failure = e;
        } catch (IOException | RuntimeException e) {
            failure = new ReadFailedException(Reason.TRANSPORT_ERROR, "cannot read the peer's memory", e);
        }
        freeAt = endOf(next.request().lengthBytes(), next.nanos());
        return new Arrival(next, failure, freeAt);
    }

    private long endOf(long bytes, long postedAt) {
        long earliest = postedAt + model.delayNanos();
        long begin = earliest - freeAt > 0 ? earliest : freeAt;
        return begin + model.transferNanos(bytes);
    }

    private static void copy(Peer owner, ReadRequest request) throws IOException {
        long written = 0;
        for (RemoteSlice slice : request.sources()) {
            try (RemoteView view = owner.view(slice)) {
                if (view == null) {
                    throw new IOException("the model sees no memory of the peer");
                }
                view.bytes()
                        .copyToAddress(request.target()
                                .memory()
                                .slice(written, slice.lengthBytes())
                                .address());
            }
            written += slice.lengthBytes();
        }
    }

    private void finish(Posted posted, @Nullable ReadFailedException failure) {
        tally.completed(1);
        if (failure == null) {
            reads.succeed(posted.request(), posted.nanos());
        } else {
            reads.fail(posted.request(), failure);
        }
    }

    private void failPosted() {
        for (Posted next = posted.poll(); next != null; next = posted.poll()) {
            finish(next, closedFailure());
        }
    }

    private static ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "the modelled fabric is closed");
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
