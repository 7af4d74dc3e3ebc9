// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.fabric.verbs.read.PendingRead;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A process that is read from: one channel for each data thread of this process, in the same order.
 *
 * <p>Requests go round the channels; one that fails on a channel starts again on the next, which on several rails is
 * another port. A rail that was lost and is back has other data threads, each of which makes itself a channel when it
 * is given the first read.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its channels, which data threads close.
 */
final class VerbsPeer implements Peer, InFlightReads.Starter, PendingRead.Channels {
    private final String peerId;
    private final VerbsAddress address;
    private final PendingReads reads;
    private final Lanes lanes;
    private final AtomicReferenceArray<@Nullable PeerReadChannel> channels;
    private final AtomicInteger nextLane = new AtomicInteger();
    private volatile boolean closed;

    VerbsPeer(String peerId, VerbsAddress address, Lanes lanes, PendingReads reads) {
        this.peerId = peerId;
        this.address = address;
        this.reads = reads;
        this.lanes = lanes;
        this.channels = new AtomicReferenceArray<>(lanes.count());
    }

    /** Returns the channels that have been used, in the order of the data threads. */
    List<PeerReadChannel> channels() {
        return IntStream.range(0, channels.length())
                .mapToObj(channels::get)
                .filter(Objects::nonNull)
                .toList();
    }

    @Override
    public void add(PendingRead read, int lane) {
        // The calling thread, which was handed the read as this lane's and is that until it has ended.
        DataThread thread = lanes.thread(lane);
        if (thread == null) {
            reads.fail(read, noDevice());
            return;
        }
        PeerReadChannel channel = channels.get(lane);
        if (channel == null || !channel.target().rail().equals(thread.rail())) {
            int rail = thread.rail().index() % address.rails().size();
            channel = thread.createChannel(
                    peerId, address.fabricId(), address.rails().get(rail));
            channels.set(lane, channel);
            if (closed) {
                // What closed this may not have seen the channel.
                channel.close(closedFailure());
            }
        }
        channel.add(read);
    }

    @Override
    public void submitAfter(PendingRead read, int failedLane) {
        submit(read, failedLane + 1);
    }

    /** Passes a read to the data thread of this lane, or of the next whose data thread runs. */
    private void submit(PendingRead read, int lane) {
        for (int i = 0; i < lanes.count(); i++) {
            DataThread thread = lanes.thread(Math.floorMod(lane + i, lanes.count()));
            if (thread != null && thread.isAlive()) {
                thread.submit(read);
                return;
            }
        }
        reads.fail(read, noDevice());
    }

    @Override
    public boolean read(ReadRequest request) {
        return reads.admit(request, this);
    }

    @Override
    public void start(ReadRequest request) {
        PendingRead read = reads.begin(request, this);
        if (closed) {
            reads.fail(read, closedFailure());
        } else if (request.isExpired()) {
            reads.fail(read, new ReadFailedException(Reason.TIMED_OUT, "deadline passed before the read"));
        } else {
            submit(read, nextLane.getAndIncrement());
        }
    }

    /** {@inheritDoc} They can: the peer stages them. */
    @Override
    public boolean readsDisk() {
        return true;
    }

    @Override
    public boolean isReachable() {
        List<PeerReadChannel> used = channels();
        return used.isEmpty() || used.stream().anyMatch(PeerReadChannel::isReachable);
    }

    @Override
    public void releaseRegions() {
        channels().forEach(channel -> channel.regions().forget());
    }

    /** An rkey keeps nothing: the device of the peer refuses it once the region is gone. */
    @Override
    public void releaseAbsentRegions() {}

    @Override
    public int openRegions() {
        return closed
                ? 0
                : channels().stream()
                        .mapToInt(channel -> channel.regions().known())
                        .max()
                        .orElse(0);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        ReadFailedException failure = closedFailure();
        for (PeerReadChannel channel : channels()) {
            channel.execute(() -> channel.close(failure));
        }
    }

    private ReadFailedException noDevice() {
        return lanes.closed().getAsBoolean()
                ? new ReadFailedException(Reason.CLOSED, "verbs fabric is closed")
                : new ReadFailedException(Reason.NOT_CONNECTED, "no RDMA device of this host works now");
    }

    private ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "the connection to executor " + peerId + " is closed");
    }
}
