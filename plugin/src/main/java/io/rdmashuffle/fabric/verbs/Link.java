package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.PeerRegions.Verdict;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.verbs.SendRequests;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way from one data thread to one peer: reads that wait, and the connection that they go over.
 *
 * <p>Connected on first use. A connection that breaks takes nothing else with it: its queue pair is destroyed, what was
 * outstanding starts again on another connection, once, after a pause; what fails twice is the caller's to fetch in
 * another way.
 *
 * <p><b>Threading:</b> the data thread; what the peer knows of regions may be read and dropped by any.
 *
 * <p><b>Ownership:</b> of its {@link VerbsPeer}; owns the connection.
 */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int MAX_PAUSE_DOUBLINGS = 6;

    /** After so many requests or bytes one asks for a completion, so that memory comes back before the chain ends. */
    private static final int SIGNAL_EVERY_REQUESTS = 8;

    private static final int SIGNAL_EVERY_BYTES = 256 << 10;

    private final VerbsPeer peer;
    private final ReadWorker worker;
    private final InetSocketAddress target;
    private final int lane;
    private final ReadFifo waiting = new ReadFifo();
    private final PeerRegions regions = new PeerRegions();
    private @Nullable Connection connection;
    private boolean connecting;

    private boolean closed;
    private boolean listed;
    private int failures;
    private long notBefore = System.nanoTime();

    Link(VerbsPeer peer, ReadWorker worker, InetSocketAddress target, int lane) {
        this.peer = peer;
        this.worker = worker;
        this.target = target;
        this.lane = lane;
    }

    VerbsPeer peer() {
        return peer;
    }

    ReadWorker worker() {
        return worker;
    }

    InetSocketAddress target() {
        return target;
    }

    int lane() {
        return lane;
    }

    /** Returns what is known of the peer's regions. */
    PeerRegions regions() {
        return regions;
    }

    @Nullable
    Connection connection() {
        return connection;
    }

    /** Returns whether there is something to wait for: reads under way, reads that want to be. */
    boolean isBusy() {
        return !waiting.isEmpty() || (connection != null && connection.outstanding() > 0);
    }

    boolean isClosed() {
        return closed;
    }

    /** Returns whether the worker knew this link already; it does from now on. */
    boolean isListed() {
        boolean before = listed;
        listed = true;
        return before;
    }

    /** The worker has forgotten this link. */
    void unlisted() {
        listed = false;
    }

    void add(PendingRead read) {
        if (closed) {
            worker.reads().fail(read, closedFailure());
        } else {
            waiting.add(read);
        }
    }

    /** Connects if that is what the reads wait for, otherwise posts what fits; returns whether anything was done. */
    boolean advance(long now) {
        if (closed || waiting.isEmpty()) {
            return false;
        }
        Connection current = connection;
        if (current != null) {
            return post(current);
        }
        if (connecting || now - notBefore < 0) {
            return false;
        }
        connecting = true;
        worker.connect(this);
        return true;
    }

    private boolean post(Connection current) {
        SendRequests chain = worker.emptyChain();
        int unsignaledBytes = 0;
        while (!chain.isFull() && current.hasRoom() && worker.hasRoom()) {
            PendingRead read = waiting.first();
            if (read == null) {
                break;
            }
            Verdict verdict = read.isReady() ? Verdict.READY : regions.lookUp(read);
            if (verdict == Verdict.IMPOSSIBLE) {
                refuse(read);
                continue;
            }
            if (verdict == Verdict.UNKNOWN) {
                if (regions.isAsking() || chain.size() > 0) {
                    // Requests are numbered in the order in which they are posted: what is in the chain goes first.
                    break;
                }
                read.askedForRegions();
                ask(current);
                return true;
            }
            unsignaledBytes += addPiece(current, chain, read);
            if (unsignaledBytes >= SIGNAL_EVERY_BYTES || chain.size() % SIGNAL_EVERY_REQUESTS == 0) {
                chain.signaled();
                unsignaledBytes = 0;
            }
            if (read.isFullyPosted()) {
                waiting.poll();
            }
        }
        if (chain.size() == 0) {
            return false;
        }
        chain.signaled();
        postAll(current, chain);
        return true;
    }

    private int addPiece(Connection current, SendRequests chain, PendingRead read) {
        RegionTable table = read.regions();
        int sourceRegion = read.source().regionId();
        Lease into = read.request().target();
        int bytes = read.pieceBytes(current.maxReadBytes());
        long local = into.region().memory().address() + into.offset() + read.targetOffset();
        long remote = table.address(sourceRegion) + read.sourceOffset();
        int localKey = worker.rail().localKey(into.region().id());
        long id = current.add(read);
        worker.posted();
        chain.read(id, local, bytes, localKey, remote, table.key(sourceRegion), false);
        read.posted(bytes);
        return bytes;
    }

    /** Posts a chain; a queue pair that does not take all of it is broken. */
    private void postAll(Connection current, SendRequests chain) {
        try {
            int taken = current.pair().post(chain);
            if (taken < chain.size()) {
                throw new IllegalStateException(current.pair() + " took " + taken + " of " + chain.size()
                        + " requests although its queue should have room");
            }
        } catch (NativeException | IllegalStateException e) {
            // What was not posted is in the ring too, and starts again with the rest.
            broken(current, new ReadFailedException(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e));
        }
    }

    private void refuse(PendingRead read) {
        waiting.poll();
        worker.reads()
                .fail(
                        read,
                        new ReadFailedException(
                                Reason.OUT_OF_BOUNDS, regions.reasonAgainst(read) + " of executor " + peer.peerId()));
    }

    private void ask(Connection current) {
        SendRequests chain = worker.emptyChain();
        long question = current.slot().address();
        regions.ask(question);
        try {
            worker.postReceive(current);
        } catch (NativeException | IllegalStateException e) {
            broken(current, new ReadFailedException(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e));
            return;
        }
        long id = current.add(null);
        worker.posted();
        chain.send(id, question, RegionTable.QUESTION_BYTES, current.slot().localKey(), true)
                .inline();
        postAll(current, chain);
    }

    /** Takes the peer's answer about its regions, and asks on if it did not tell all. */
    void answered(Connection from, int lengthBytes) {
        if (from != connection) {
            return;
        }
        try {
            if (regions.answered(from.slot().address() + ReadWorker.ANSWER_OFFSET, lengthBytes) && from.hasRoom()) {
                ask(from);
            }
        } catch (IllegalArgumentException e) {
            LOG.debug("executor {}: {}", peer.peerId(), e.getMessage());
        }
    }

    /** Takes a completion that stands for this request and all before it. */
    void completed(Connection from, long workRequestId) {
        failures = 0;
        for (int left = from.completedBy(workRequestId); left > 0; left--) {
            PendingRead read = from.retire();
            worker.retired();
            if (read != null && read.arrived()) {
                worker.reads().succeed(read);
            }
        }
    }

    /** Takes the connection that the control thread made. */
    void connected(Connection made) {
        connecting = false;
        if (closed || !worker.register(made)) {
            if (made.closePair()) {
                worker.closeIdentity(made);
            }
            return;
        }
        regions.reset();
        connection = made;
        LOG.debug(
                "connected to executor {} at {} from {}",
                peer.peerId(),
                target,
                worker.rail().port());
    }

    /** Takes the news that there will be no connection this time. */
    void connectFailed(ReadFailedException failure) {
        connecting = false;
        pause();
        LOG.debug("no connection to executor {} at {}", peer.peerId(), target, failure);
        int count = 0;
        for (PendingRead read = waiting.first(); read != null; read = read.next) {
            count++;
        }
        for (; count > 0; count--) {
            startAgainOrFail(pollWaiting(), failure, true, true);
        }
    }

    /** Ends the connection after an error on it; what was outstanding starts again, or fails. */
    void broken(Connection broken, ReadFailedException failure) {
        if (broken != connection) {
            return;
        }
        LOG.debug("connection to executor {} at {} is lost", peer.peerId(), target, failure);
        pause();
        drop(failure, true);
    }

    /** Fails reads whose deadline has passed; those that are outstanding take the connection with them. */
    void expire() {
        Connection current = connection;
        boolean late = false;
        for (int i = 0; current != null && i < current.outstanding(); i++) {
            PendingRead read = current.peek(i);
            late |= read != null && read.batch().isExpired();
        }
        PendingRead first = waiting.first();
        if (first == null && !late) {
            return;
        }
        late |= regions.isAsking() && first != null && first.batch().isExpired();
        if (late) {
            pause();
            drop(expiredFailure(), true);
            return;
        }
        int count = 0;
        for (PendingRead read = first; read != null; read = read.next) {
            count++;
        }
        for (; count > 0; count--) {
            PendingRead read = pollWaiting();
            // A read of which pieces are outstanding was looked at above.
            if (read.batch().isExpired() && !read.isOutstanding()) {
                worker.reads().fail(read, expiredFailure());
            } else {
                waiting.add(read);
            }
        }
    }

    /** Fails everything and lets nothing in any more. */
    void close(ReadFailedException failure) {
        closed = true;
        regions.reset();
        drop(failure, false);
        while (!waiting.isEmpty()) {
            worker.reads().fail(pollWaiting(), failure);
        }
    }

    /**
     * Destroys the queue pair, after which nothing writes into targets any more, then deals with what was on it.
     *
     * @param retry whether reads may start again
     */
    private void drop(ReadFailedException failure, boolean retry) {
        Connection dropped = connection;
        connection = null;
        regions.reset();
        if (dropped == null) {
            return;
        }
        boolean gone = dropped.closePair();
        worker.unregister(dropped);
        // Pieces of one read are neighbours; the last of them may still be waiting, partly posted.
        PendingRead partly = waiting.first();
        if (partly != null && partly.isOutstanding()) {
            waiting.poll();
        } else {
            partly = null;
        }
        PendingRead previous = null;
        while (dropped.outstanding() > 0) {
            PendingRead read = dropped.retire();
            worker.retired();
            if (read != null && read != previous && read != partly) {
                startAgainOrFail(read, failure, retry, gone);
            }
            previous = read == null ? previous : read;
        }
        if (partly != null) {
            startAgainOrFail(partly, failure, retry, gone);
        }
        if (gone) {
            worker.closeIdentity(dropped);
        }
    }

    /**
     * Deals with a read of which nothing is under way any more.
     *
     * @param retry whether it may start again
     * @param gone whether the device has let go of its target
     */
    private void startAgainOrFail(PendingRead read, ReadFailedException failure, boolean retry, boolean gone) {
        if (!gone) {
            worker.reads().abandon(read, failure);
            return;
        }
        boolean expired = read.batch().isExpired();
        boolean mayRetry = read.mayRetry();
        if (retry && mayRetry) {
            peer.submitAfter(this, read);
        } else {
            worker.reads().fail(read, expired && retry ? expiredFailure() : failure);
        }
    }

    private PendingRead pollWaiting() {
        PendingRead read = waiting.poll();
        if (read == null) {
            throw new IllegalStateException("no read is waiting");
        }
        return read;
    }

    private void pause() {
        notBefore = System.nanoTime() + (FIRST_PAUSE_NANOS << Math.min(failures, MAX_PAUSE_DOUBLINGS));
        failures++;
    }

    private ReadFailedException expiredFailure() {
        return new ReadFailedException(
                Reason.TIMED_OUT,
                "executor " + peer.peerId() + " at " + target + " did not deliver within the read's deadline"
                        + " (spark.shuffle.rdma.fabric.readTimeout)");
    }

    private ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "executor " + peer.peerId() + " was given up");
    }
}
