// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.connect.ConnectionListener;
import io.rdmashuffle.fabric.verbs.connect.ConnectionService;
import io.rdmashuffle.fabric.verbs.connect.ConnectionTarget;
import io.rdmashuffle.fabric.verbs.connect.EstablishedPair;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.ffi.NativeException;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads of one data thread from one peer: waiting reads, and their connection.
 *
 * <pre>
 *  idle -- a read waits --> connecting -- connected --> querying regions -- response --> posting
 *   ^                         |                          |                                |
 *   +---- after a pause ------+--- refused, failed ------+----- lost, deadline passed ----+
 *   +---- at once ------------------------------------------------ nothing was read for long
 * </pre>
 *
 * <p>Connected on first use. When a connection breaks, its queue pair is destroyed and its outstanding reads are
 * retried once on another connection, after a pause. A read that fails twice is reported to the caller.
 *
 * <p><b>Threading:</b> the data thread; {@link #execute} and what the peer knows of {@link #regions} are for any.
 *
 * <p><b>Ownership:</b> of its peer, which closes it on the data thread; owns the connection.
 */
public final class PeerReadChannel implements Connection.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(PeerReadChannel.class);

    private final ConnectionTarget target;
    private final Schedule schedule;
    private final Executor dataThread;
    private final Connections connections;
    private final RequestPoster poster;
    private final ConnectionService control;
    private final PendingReads reads;
    private final LongSupplier nanoClock;
    private final PeerRegions regions = new PeerRegions();
    private final ReconnectPause pause = new ReconnectPause();
    private final ConnectionListener fromControl = new FromControl();
    private final MemoryReads direct;
    private final StagedReads staged;
    private @Nullable Connection connection;
    private boolean connecting;
    /** Whether reads wait; for the control thread, which lets attempts wait for their turn. */
    private volatile boolean wanted;

    private boolean closed;
    private boolean opened;
    private boolean active;
    private long idleSince;
    private volatile boolean isReachable = true;

    /** The channels that a data thread serves. */
    interface Schedule {
        /** Registers a channel to close with the data thread. */
        void opened(PeerReadChannel channel);

        /** Activates a channel until it has no work. */
        void activate(PeerReadChannel channel);

        /** Reactivates a channel that was {@link #isConnecting connecting}. */
        void resume(PeerReadChannel channel);

        /** Drops a channel, which is closed. */
        void closed(PeerReadChannel channel);
    }

    /**
     * Connects to nothing yet.
     *
     * @param dataThread runs something on the data thread; for any thread
     * @param connections by which completions find a connection
     */
    PeerReadChannel(
            ConnectionTarget target,
            Schedule schedule,
            Executor dataThread,
            Connections connections,
            RequestPoster poster,
            ConnectionService control,
            PendingReads reads,
            LongSupplier nanoClock) {
        this.target = target;
        this.schedule = schedule;
        this.dataThread = dataThread;
        this.connections = connections;
        this.poster = poster;
        this.control = control;
        this.reads = reads;
        this.nanoClock = nanoClock;
        this.direct = new MemoryReads(reads, regions, target.rail(), describePeer());
        this.staged = new StagedReads(reads, regions, target.rail(), describePeer());
    }

    /** Events of the control thread, handed to the data thread. */
    private final class FromControl implements ConnectionListener {
        @Override
        public boolean isWanted() {
            return wanted;
        }

        @Override
        public void notTried() {
            // Reads that have come since connect at the next turn.
            execute(PeerReadChannel.this::endConnecting);
        }

        @Override
        public void connected(EstablishedPair pair) {
            execute(() -> PeerReadChannel.this.connected(pair));
        }

        @Override
        public void connectFailed(ReadFailedException failure) {
            execute(() -> PeerReadChannel.this.connectFailed(failure));
        }

        @Override
        public void broken(EstablishedPair pair, ReadFailedException failure) {
            execute(() -> {
                Connection current = connection;
                if (current != null && current.established().equals(pair)) {
                    PeerReadChannel.this.broken(current, failure);
                }
            });
        }
    }

    /** Returns the target of the connection. */
    public ConnectionTarget target() {
        return target;
    }

    /** Returns the known regions of the peer. */
    public PeerRegions regions() {
        return regions;
    }

    /** Returns the connection, null while there is none. */
    public @Nullable Connection connection() {
        return connection;
    }

    /** Runs something on the data thread, or here once that has ended. For any thread. */
    public void execute(Runnable command) {
        dataThread.execute(command);
    }

    @Override
    public String describePeer() {
        return "executor " + target.peerId() + " at " + target.address();
    }

    /** Returns whether there is something to wait for: reads under way, reads that want to be. */
    boolean isBusy() {
        boolean working = connection != null && connection.outstanding() > 0;
        return working || !direct.isEmpty() || !staged.isIdle() || regions.isQuerying();
    }

    /** Returns whether the channel waits for the outcome of a connection attempt. */
    boolean isConnecting() {
        return connecting && connection == null && !closed;
    }

    boolean isClosed() {
        return closed;
    }

    /** Records that the channel is inactive. */
    void deactivated(long now) {
        active = false;
        idleSince = now;
    }

    /** Closes a connection that has been idle for that time; the next read opens another without a pause. */
    void closeIfIdle(long now, long idleNanos) {
        if (connection == null || active || now - idleSince < idleNanos) {
            return;
        }
        LOG.debug("Closing the connection to {}: nothing was read for {} s", target, (now - idleSince) / 1_000_000_000);
        drop(new ReadFailedException(Reason.CLOSED, "nothing was read for long"), false);
    }

    /** Returns false if the last attempt to connect failed; for any thread. */
    public boolean isReachable() {
        return isReachable;
    }

    /** Accepts a read, which ends here or on another channel. */
    public void add(PendingRead read) {
        if (closed) {
            reads.fail(read, closedFailure());
            return;
        }
        if (pause.isAfterTimeout() && !connecting && connection == null) {
            long now = nanoClock.getAsLong();
            if (!pause.isOver(now)) {
                // Its peer did not answer in time, and is not asked to connect for a while.
                String why = describePeer() + " did not answer in time, and is asked again later"
                        + " (spark.shuffle.rdma.fabric.verbs.connectTimeout)";
                restartOrFail(read, new ReadFailedException(Reason.NOT_CONNECTED, why), true, now);
                return;
            }
        }
        activate();
        if (!wanted) {
            wanted = true;
        }
        if (read.needsStaging()) {
            staged.add(read);
        } else {
            direct.add(read);
        }
    }

    private void activate() {
        if (!opened) {
            opened = true;
            schedule.opened(this);
        }
        if (!active) {
            active = true;
            schedule.activate(this);
        }
    }

    /** Connects if reads wait for a connection, otherwise posts as many as fit; returns whether anything was done. */
    boolean advance(long now) {
        if (closed || (direct.isEmpty() && staged.isIdle())) {
            return false;
        }
        Connection current = connection;
        if (current != null) {
            try {
                boolean worked = staged.advance(current, poster, now);
                if (current == connection) {
                    // Staging has not ended the connection.
                    worked |= direct.advance(current, poster);
                }
                return worked;
            } catch (NativeException | IllegalStateException e) {
                // Unposted requests count as outstanding, too, and are retried with the rest.
                broken(current, new ReadFailedException(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e));
                return true;
            }
        }
        if (connecting || !pause.isOver(now)) {
            return false;
        }
        connecting = true;
        control.connect(target, fromControl);
        return true;
    }

    @Override
    public void responded(Connection on, int buffer, int lengthBytes) {
        if (on != connection) {
            return;
        }
        poster.releaseReceive(on, buffer);
        long message = on.receiveAddress(buffer);
        try {
            if (StagingMessages.isAnswer(message, lengthBytes)) {
                staged.answered(message, lengthBytes, nanoClock.getAsLong());
            } else if (regions.takeResponse(message, lengthBytes) && poster.hasControlRoom(on)) {
                regions.query(on, poster);
            }
        } catch (NativeException | IllegalStateException e) {
            broken(on, new ReadFailedException(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e));
        } catch (IllegalArgumentException e) {
            LOG.debug("Executor {}: {}", target.peerId(), e.getMessage());
        }
    }

    @Override
    public void completed(Connection on, long workRequestId) {
        pause.reset();
        if (staged.isReading() && staged.isLate(nanoClock.getAsLong())) {
            // Bytes may have come from memory that the peer has used anew.
            broken(on, WaitingReads.expired(describePeer(), false));
            return;
        }
        for (int left = on.completedBy(workRequestId); left > 0; left--) {
            PendingRead read = poster.retireOldest(on);
            if (read != null && read.takeArrival()) {
                reads.succeed(read);
            }
        }
    }

    private void endConnecting() {
        connecting = false;
        schedule.resume(this);
    }

    private void connected(EstablishedPair pair) {
        endConnecting();
        Connection made = new Connection(this, pair);
        if (closed || !connections.add(made)) {
            if (made.closePair()) {
                control.closeIdentity(pair);
            }
            return;
        }
        reads.meter().connectionOpened();
        regions.reset();
        staged.connected(made);
        connection = made;
        isReachable = true;
        idleSince = nanoClock.getAsLong();
        LOG.debug("Connected to {}", target);
    }

    private void connectFailed(ReadFailedException failure) {
        endConnecting();
        isReachable = false;
        long now = nanoClock.getAsLong();
        if (failure.reason() == Reason.NOT_CONNECTED) {
            pause.startAfterTimeout(now);
        } else {
            pause.startAfterFailure(now);
        }
        LOG.debug("No connection to {}", target, failure);
        endWaiting(failure, true, now);
    }

    private void endWaiting(ReadFailedException failure, boolean retry, long now) {
        for (WaitingReads each : List.of(direct, staged)) {
            for (int left = each.size(); left > 0; left--) {
                restartOrFail(each.take(), failure, retry, now);
            }
        }
    }

    /** Ends the connection after an error; outstanding reads are retried or fail. */
    @Override
    public void broken(Connection on, ReadFailedException failure) {
        if (on != connection) {
            return;
        }
        LOG.debug("Lost the connection to {}", target, failure);
        pauseAndDrop(failure);
    }

    private void pauseAndDrop(ReadFailedException failure) {
        pause.startAfterFailure(nanoClock.getAsLong());
        reads.meter().connectionLost();
        drop(failure, true);
    }

    /** Fails reads whose deadline has passed; if they are outstanding, the connection ends. */
    void expire(long now) {
        Connection current = connection;
        boolean late = regions.isLate(now);
        for (int i = 0; current != null && i < current.outstanding(); i++) {
            PendingRead read = current.peek(i);
            late |= read != null && read.isExpired(now);
        }
        if (direct.isEmpty() && staged.isIdle() && !late) {
            return;
        }
        late |= staged.isLate(now);
        if (late) {
            pauseAndDrop(WaitingReads.expired(describePeer(), false));
            return;
        }
        direct.expire(now, connecting);
        staged.expire(now, connecting);
        wanted = !direct.isEmpty() || !staged.isEmpty();
    }

    /** Fails everything and lets nothing in any more. */
    public void close(ReadFailedException failure) {
        close(failure, false);
    }

    /** Ends everything, to start again on another lane if that is wanted, and lets nothing in any more. */
    void close(ReadFailedException failure, boolean retry) {
        closed = true;
        wanted = false;
        regions.reset();
        drop(failure, retry);
        endWaiting(failure, retry, nanoClock.getAsLong());
        schedule.closed(this);
    }

    /**
     * Destroys the queue pair, after which no target is written, then retries or fails its reads.
     *
     * @param retry whether reads may be retried
     */
    private void drop(ReadFailedException failure, boolean retry) {
        Connection dropped = connection;
        connection = null;
        regions.reset();
        if (dropped == null) {
            return;
        }
        boolean released = dropped.closePair();
        connections.remove(dropped);
        reads.meter().connectionClosed();
        // What waits to be posted in part is where it waits; the rest is on the connection only.
        ReadFifo ended = new ReadFifo();
        direct.reset(ended);
        staged.reset(ended);
        while (dropped.outstanding() > 0) {
            PendingRead read = poster.retireOldest(dropped);
            if (read != null && read.isFullyPosted() && read.dropOutstanding()) {
                ended.add(read);
            }
        }
        poster.forgetReceives(dropped);
        long now = nanoClock.getAsLong();
        for (PendingRead read = ended.poll(); read != null; read = ended.poll()) {
            if (released) {
                restartOrFail(read, failure, retry, now);
            } else {
                reads.abandon(read, failure);
            }
        }
        if (released) {
            control.closeIdentity(dropped.established());
        }
    }

    private ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "the connection to executor " + target.peerId() + " is closed");
    }

    /**
     * Retries a read of which nothing is under way any more, once, on another lane if there is one; or fails it.
     *
     * @param retry whether it may start again
     */
    private void restartOrFail(PendingRead read, ReadFailedException failure, boolean retry, long now) {
        boolean expired = read.isExpired(now);
        boolean mayRetry = read.rewindForRetry(now);
        if (retry && mayRetry) {
            reads.meter().retried();
            read.channels().submitAfter(read, target.lane());
        } else {
            boolean late = expired && retry && failure.reason().isFaultOfPath();
            reads.fail(read, late ? WaitingReads.expired(describePeer(), false) : failure);
        }
    }

    /**
     * Back-off before a channel connects again: 50 ms after the first failure, twice as long after each further one,
     * at most 3.2 s; 1 s to 32 s after attempts that timed out.
     *
     * <p>Reads wait for the end of a short back-off. During a long one they fail at once and use another path: each
     * attempt that times out has delayed reads, and a peer that never answers must delay them ever less often.
     *
     * <p><b>Threading:</b> the data thread.
     */
    private static final class ReconnectPause {
        private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
        private static final int MAX_DOUBLINGS = 6;
        private static final long FIRST_AFTER_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);
        private static final int MAX_DOUBLINGS_AFTER_TIMEOUT = 5;

        private int failures;
        private int timeouts;
        private boolean afterTimeout;
        private long endNanos;

        /** Begins a pause. */
        void startAfterFailure(long now) {
            endNanos = now + (FIRST_NANOS << Math.min(failures, MAX_DOUBLINGS));
            failures++;
            afterTimeout = false;
        }

        /** Begins a pause after an attempt to connect that ran out of time. */
        void startAfterTimeout(long now) {
            endNanos = now + (FIRST_AFTER_TIMEOUT_NANOS << Math.min(timeouts, MAX_DOUBLINGS_AFTER_TIMEOUT));
            timeouts++;
            afterTimeout = true;
        }

        /** Returns whether a connection may be tried. */
        boolean isOver(long now) {
            return failures + timeouts == 0 || now - endNanos >= 0;
        }

        /** Returns whether the last attempt ran out of time, so that the pause may be a long one. */
        boolean isAfterTimeout() {
            return afterTimeout;
        }

        /** Resets the next pause to the shortest, after a success. */
        void reset() {
            failures = 0;
            timeouts = 0;
            afterTimeout = false;
        }
    }
}
