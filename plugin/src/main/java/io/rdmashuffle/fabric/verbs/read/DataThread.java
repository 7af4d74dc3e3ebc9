// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.WorkTally;
import io.rdmashuffle.fabric.verbs.connect.ConnectionService;
import io.rdmashuffle.fabric.verbs.connect.ConnectionTarget;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.WaitSet;
import io.rdmashuffle.verbs.WorkCompletions;
import io.rdmashuffle.verbs.WorkFailedException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Work of a data thread: it posts the reads of one rail and takes their completions.
 *
 * <p>It looks for completions as long as they keep coming, and for the poll time after the last one; then it arms the
 * completion queue and sleeps.
 *
 * <p><b>Threading:</b> {@link #run} is the data thread's; {@link #submit}, {@link #execute}, {@link #stop} and what
 * only tells are for any thread, {@link #close} for one when {@link #run} has returned.
 *
 * <p><b>Ownership:</b> owns completion queue and channel, and the connections of its channels.
 */
public final class DataThread implements Runnable, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DataThread.class);
    private static final int POLL_COMPLETIONS = 64;
    private static final int MAX_COMPLETIONS = 1 << 14;
    private static final long BUSY_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    /** Deadlines of reads that wait for a connection are seconds. */
    private static final long CONNECTING_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long IDLE_TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int IDLE_CHECKS = 8;

    private final int lane;
    private final Rail rail;
    private final ConnectionService control;
    private final PendingReads reads;
    private final long pollNanos;
    private final long idleNanos;
    private final LongSupplier nanoClock;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final WorkCompletions completions;
    private final WaitSet waits;
    private final Inbox inbox = new Inbox();
    /** Rare: connections made and lost, peers closed. At most a few entries per connection. */
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    private final Connections connections = new Connections();
    private final ActiveChannels channels = new ActiveChannels();
    private final WorkTally tally = new WorkTally();
    private final RequestPoster poster;
    private volatile boolean sleeping;
    private volatile @Nullable ReadFailedException lost;
    private volatile boolean closing;
    private volatile boolean ended;
    private long now;
    private long nextExpiry;
    private long nextIdleCheck;

    /**
     * Creates the queue on the rail's device; {@link #run} serves it.
     *
     * @param lane this thread's place among the fabric's data threads
     * @param pollTime how long to look for completions before sleeping
     * @param idleTimeout after how long a connection is closed through which nothing was read; zero if never
     */
    public DataThread(
            int lane,
            Rail rail,
            ConnectionService control,
            PendingReads reads,
            Duration pollTime,
            Duration idleTimeout,
            LongSupplier nanoClock) {
        this.lane = lane;
        this.rail = rail;
        this.control = control;
        this.reads = reads;
        this.pollNanos = pollTime.toNanos();
        this.idleNanos = idleTimeout.toNanos();
        this.nanoClock = nanoClock;
        this.now = nanoClock.getAsLong();
        this.nextExpiry = now;
        this.nextIdleCheck = now;
        this.channel = rail.context().createCompletionChannel();
        int entries = Math.min(MAX_COMPLETIONS, rail.limits().maxCompletions());
        this.queue = rail.createCompletionQueue(entries, channel, 1 + lane);
        // Not before what may fail: these do not close with the device.
        this.completions = new WorkCompletions(POLL_COMPLETIONS);
        this.waits = new WaitSet(1);
        // Every request may complete, by error, at once; the other half is for what closed queue pairs left behind.
        this.poster = new RequestPoster(entries, tally);
        waits.add(channel.fileDescriptor());
    }

    /** Returns the channels of this thread; for its tests. */
    ActiveChannels channels() {
        return channels;
    }

    /** Returns this thread's place among the fabric's data threads. */
    public int lane() {
        return lane;
    }

    /** Returns the rail that reads go over. */
    public Rail rail() {
        return rail;
    }

    /** Returns the work of reads since the start. For any thread. */
    public FabricWork work() {
        return tally.work();
    }

    /** Creates this thread's channel to a peer, which connects when it is first read through. */
    public PeerReadChannel createChannel(String peerId, long fabricId, InetSocketAddress address) {
        ConnectionTarget target = new ConnectionTarget(rail, queue, address, peerId, fabricId, lane);
        return new PeerReadChannel(target, channels, this::execute, connections, poster, control, reads, nanoClock);
    }

    /** Passes a read on; fails it if this is closed. For any thread. */
    public void submit(PendingRead read) {
        if (!inbox.add(read)) {
            reads.fail(read, closedFailure());
        } else if (sleeping) {
            waits.wake();
        }
    }

    /** Runs something on the data thread, or here once that has ended. For any thread. */
    public void execute(Runnable command) {
        commands.add(command);
        if (ended) {
            runLateCommands();
        } else if (sleeping) {
            waits.wake();
        }
    }

    /** All channels are closed: late commands close their resources. */
    private synchronized void runLateCommands() {
        runCommands();
    }

    /** Returns whether reads can be handed over. For any thread. */
    public boolean isAlive() {
        return !ended && !closing;
    }

    /**
     * Ends {@link #run} because the device is lost: outstanding and waiting reads are retried on other running lanes.
     * For any thread.
     */
    public void lose(ReadFailedException why) {
        lost = why;
        stop();
    }

    /** Fails outstanding reads and ends {@link #run}. For any thread. */
    public void stop() {
        closing = true;
        waits.wake();
    }

    /** Passes a device's event on to the connection that it is about, if it is one of this thread's. For any thread. */
    public void deviceEvent(AsyncEvent event) {
        execute(() -> connections.forEach(connection -> {
            if (event.isAbout(connection.pair())) {
                connection
                        .owner()
                        .broken(connection, new ReadFailedException(Reason.TRANSPORT_ERROR, event.description()));
            }
        }));
    }

    /** Posts reads and polls completions until {@link #stop}, then fails the rest. */
    @Override
    public void run() {
        try {
            loop();
        } catch (RuntimeException | Error e) {
            LOG.error(
                    "Data thread of {} failed; other data threads, TCP or Spark's block transfer serve until this"
                            + " executor ends",
                    rail.port(),
                    e);
        }
        try {
            closeChannels();
        } finally {
            ended = true;
            runLateCommands();
        }
    }

    private void loop() {
        long lastWork = nanoClock.getAsLong();
        while (!closing) {
            if (turn()) {
                lastWork = now;
            } else if (now - lastWork < pollNanos) {
                Thread.onSpinWait();
            } else {
                sleep();
            }
        }
    }

    /** Does what there is to do, without waiting; returns whether there was anything. */
    boolean turn() {
        boolean worked = runCommands();
        worked |= takeReads();
        worked |= pollCompletions();
        now = nanoClock.getAsLong();
        worked |= channels.advance(now);
        if (now - nextExpiry >= 0) {
            nextExpiry = now + BUSY_TICK_NANOS;
            channels.expire(now);
        }
        if (idleNanos > 0 && now - nextIdleCheck >= 0) {
            // All channels are looked at, but so seldom that their number does not matter.
            nextIdleCheck = now + idleNanos / IDLE_CHECKS;
            channels.closeIdle(now, idleNanos);
        }
        return worked;
    }

    private boolean runCommands() {
        boolean any = false;
        for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
            command.run();
            any = true;
        }
        return any;
    }

    private boolean takeReads() {
        PendingRead read = inbox.takeAll();
        boolean any = read != null;
        while (read != null) {
            PendingRead after = read.next;
            read.channels().add(read, lane);
            read = after;
        }
        return any;
    }

    private boolean pollCompletions() {
        int count = queue.poll(completions);
        if (count > 0) {
            tally.completed(count);
        }
        for (int i = 0; i < count; i++) {
            long id = completions.workRequestId(i);
            Connection connection = connections.find(Connection.serialOf(id));
            if (connection == null) {
                // Left over from a queue pair that is closed.
                continue;
            }
            Connection.Owner owner = connection.owner();
            if (!completions.succeeded(i)) {
                owner.broken(connection, failure(owner, i));
            } else if (Connection.isReceive(id)) {
                owner.responded(connection, Connection.receiveBuffer(id), completions.lengthBytes(i));
            } else {
                owner.completed(connection, id);
            }
        }
        return count > 0;
    }

    private ReadFailedException failure(Connection.Owner owner, int completion) {
        CompletionStatus status = completions.status(completion);
        WorkFailedException cause =
                new WorkFailedException("READ", owner.describePeer(), status, completions.vendorError(completion));
        Reason reason = status == CompletionStatus.RETRY_EXCEEDED ? Reason.PEER_GONE : Reason.TRANSPORT_ERROR;
        return new ReadFailedException(reason, String.valueOf(cause.getMessage()), cause);
    }

    private long tickNanos() {
        if (channels.isBusy()) {
            return BUSY_TICK_NANOS;
        }
        return channels.isConnecting() ? CONNECTING_TICK_NANOS : IDLE_TICK_NANOS;
    }

    /** Sleeps until there is something to do. The order loses no wake-up: announce, arm, look once more, wait. */
    private void sleep() {
        sleeping = true;
        try {
            queue.arm();
            if (inbox.isEmpty() && commands.isEmpty() && !closing && !pollCompletions()) {
                if (waits.await(tickNanos())) {
                    tally.woken();
                }
            }
        } finally {
            sleeping = false;
        }
        while (channel.nextEvent() != null) {
            // The event says no more than that it is time to poll.
        }
    }

    /** Ends all reads, here at least; the last act of the data thread. */
    private void closeChannels() {
        runCommands();
        takeReads();
        boolean retry = lost != null;
        ReadFailedException failure = closedFailure();
        channels.forEachOpen(each -> {
            try {
                each.close(failure, retry);
            } catch (RuntimeException | Error e) {
                LOG.error("Could not close the channel to {}", each.describePeer(), e);
            }
        });
        PendingRead late = inbox.close();
        while (late != null) {
            PendingRead after = late.next;
            if (retry) {
                late.channels().submitAfter(late, lane);
            } else {
                reads.fail(late, failure);
            }
            late = after;
        }
    }

    private ReadFailedException closedFailure() {
        ReadFailedException why = lost;
        return why == null ? new ReadFailedException(Reason.CLOSED, "verbs fabric is closed") : why;
    }

    /** Closes the queue, after {@link #run} has returned. */
    @Override
    public void close() {
        queue.close();
        channel.close();
        waits.close();
        completions.close();
        poster.close();
    }

    /**
     * Intrusive multi-producer queue of reads, which can be closed permanently.
     *
     * <p>A stack that is always taken whole, so no entry can leave and come back while another thread compares.
     *
     * <p><b>Threading:</b> any thread adds; one thread takes.
     */
    private static final class Inbox {
        private static final PendingRead CLOSED = new PendingRead();

        private final AtomicReference<@Nullable PendingRead> top = new AtomicReference<>();

        /** Adds a read; returns false if the inbox is closed, when the read stays the caller's. */
        boolean add(PendingRead read) {
            while (true) {
                PendingRead before = top.get();
                if (before == CLOSED) {
                    return false;
                }
                read.next = before;
                if (top.compareAndSet(before, read)) {
                    return true;
                }
            }
        }

        boolean isEmpty() {
            return top.get() == null;
        }

        /** Removes everything; returns the oldest, chained to the newer ones, or null. */
        @Nullable
        PendingRead takeAll() {
            return top.get() == null ? null : reversed(top.getAndSet(null));
        }

        /** Removes everything and lets nothing in any more. */
        @Nullable
        PendingRead close() {
            PendingRead rest = top.getAndSet(CLOSED);
            return rest == CLOSED ? null : reversed(rest);
        }

        private static @Nullable PendingRead reversed(@Nullable PendingRead newest) {
            PendingRead oldest = null;
            PendingRead read = newest;
            while (read != null) {
                PendingRead before = read.next;
                read.next = oldest;
                oldest = read;
                read = before;
            }
            return oldest;
        }
    }
}
