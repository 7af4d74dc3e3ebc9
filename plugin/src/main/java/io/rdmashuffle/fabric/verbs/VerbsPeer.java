// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.fabric.verbs.read.PendingRead;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A process that is read from: one channel for each data thread of this process, in the same order.
 *
 * <p>Requests go round the channels; one that fails on a channel starts again on the next, which on several rails is
 * another port.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its channels, which data threads close.
 */
final class VerbsPeer implements Peer, PendingRead.Channels {
    private final String peerId;
    private final PendingReads reads;
    private final List<DataThread> threads;
    private final List<PeerReadChannel> channels = new ArrayList<>();
    private final AtomicInteger nextLane = new AtomicInteger();
    private volatile boolean closed;

    VerbsPeer(String peerId, VerbsAddress address, List<DataThread> threads, PendingReads reads) {
        this.peerId = peerId;
        this.reads = reads;
        this.threads = List.copyOf(threads);
        for (DataThread thread : threads) {
            int rail = thread.rail().index() % address.rails().size();
            channels.add(thread.createChannel(
                    peerId, address.fabricId(), address.rails().get(rail)));
        }
    }

    /** Returns the channels in the order of the data threads. */
    List<PeerReadChannel> channels() {
        return channels;
    }

    @Override
    public void add(PendingRead read, int lane) {
        channels.get(lane).add(read);
    }

    @Override
    public void submitAfter(PendingRead read, int failedLane) {
        runningThread(failedLane + 1).submit(read);
    }

    /** Returns a data thread that runs, from this lane on; any if none does. */
    private DataThread runningThread(int lane) {
        for (int i = 0; i < threads.size(); i++) {
            DataThread thread = threads.get(Math.floorMod(lane + i, threads.size()));
            if (thread.isAlive()) {
                return thread;
            }
        }
        return threads.get(0);
    }

    @Override
    public boolean read(ReadBatch batch) {
        if (!reads.tryAdmit(batch)) {
            return false;
        }
        List<ReadRequest> requests = batch.requests();
        for (int i = 0; i < requests.size(); i++) {
            PendingRead read = reads.lend(batch, requests.get(i), this);
            if (closed) {
                reads.fail(read, closedFailure());
            } else if (batch.isExpired()) {
                reads.fail(read, new ReadFailedException(Reason.TIMED_OUT, "deadline passed before the read"));
            } else {
                runningThread(nextLane.getAndIncrement()).submit(read);
            }
        }
        return true;
    }

    @Override
    public @Nullable RemoteView view(RemoteSlice slice) {
        return null;
    }

    @Override
    public @Nullable RemoteView region(int regionId) {
        return null;
    }

    /** {@inheritDoc} They can: the peer stages them. */
    @Override
    public boolean readsDisk() {
        return true;
    }

    @Override
    public void releaseRegions() {
        channels.forEach(channel -> channel.regions().forget());
    }

    /** An rkey keeps nothing: the device of the peer refuses it once the region is gone. */
    @Override
    public void releaseAbsentRegions() {}

    @Override
    public int openRegions() {
        return closed
                ? 0
                : channels.stream()
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
        for (PeerReadChannel channel : channels) {
            channel.execute(() -> channel.close(failure));
        }
    }

    private ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "the connection to executor " + peerId + " is closed");
    }
}
