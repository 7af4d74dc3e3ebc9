package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WaitSet;
import io.rdmashuffle.verbs.WorkCompletions;
import io.rdmashuffle.verbs.WorkFailedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A data thread: posts the reads of one rail and takes their completions.
 *
 * <p>It looks for completions as long as they keep coming, and for the poll time after the last one; then it arms the
 * completion queue and sleeps.
 *
 * <p><b>Threading:</b> {@link #submit}, {@link #execute} and {@link #shutDown} are for any thread; the rest is the data
 * thread's.
 *
 * <p><b>Ownership:</b> owns thread, completion queue and channel, and the connections of its links.
 */
final class ReadWorker {
    /** In a connection's slot the question lies in front, the answer here. */
    static final int ANSWER_OFFSET = 64;

    private static final Logger LOG = LoggerFactory.getLogger(ReadWorker.class);
    private static final int CHAIN_REQUESTS = 32;
    private static final int POLL_COMPLETIONS = 64;
    private static final int MAX_COMPLETIONS = 1 << 14;
    private static final long BUSY_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long IDLE_TICK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long CLOSE_MILLIS = 10_000;

    private final Rail rail;
    private final ControlLoop control;
    private final PendingReads reads;
    private final long pollNanos;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final Thread thread;
    private final WorkCompletions completions = new WorkCompletions(POLL_COMPLETIONS);
    private final SendRequests chain = new SendRequests(CHAIN_REQUESTS, 1);
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final WaitSet waits = new WaitSet(1);
    private final Inbox inbox = new Inbox();
    /** Rare: connections made and lost, peers given up. At most a few entries per connection. */
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    private final Connections connections = new Connections();
    private final List<Link> links = new ArrayList<>();
    private volatile boolean sleeping;
    private volatile boolean closing;
    private volatile boolean ended;
    private final int maxPosted;
    private int posted;
    private long nextExpiry = System.nanoTime();

    /** Creates the queue on the rail's device; {@link #start} starts the thread. */
    ReadWorker(int number, Rail rail, ControlLoop control, PendingReads reads, VerbsSettings settings) {
        this.rail = rail;
        this.control = control;
        this.reads = reads;
        this.pollNanos = settings.pollTime().toNanos();
        this.channel = rail.context().createCompletionChannel();
        int entries = Math.min(MAX_COMPLETIONS, rail.limits().maxCompletions());
        this.queue = rail.context().createCompletionQueue(entries, channel);
        // Every request may complete, by error, at once; the other half is for what closed queue pairs left behind.
        this.maxPosted = entries / 2;
        waits.add(channel.fileDescriptor());
        this.thread = new Thread(this::run, "rdma-read-" + number);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    Rail rail() {
        return rail;
    }

    CompletionQueue queue() {
        return queue;
    }

    PendingReads reads() {
        return reads;
    }

    /** Hands a read over; fails it if this worker is closed. For any thread. */
    void submit(PendingRead read) {
        if (!inbox.add(read)) {
            reads.fail(read, closedFailure());
        } else if (sleeping) {
            waits.wake();
        }
    }

    /** Runs something on the data thread, or here once that has ended. For any thread. */
    void execute(Runnable command) {
        commands.add(command);
        if (ended) {
            runLateCommands();
        } else if (sleeping) {
            waits.wake();
        }
    }

    /** All links are closed: what comes late closes what it brings. */
    private synchronized void runLateCommands() {
        runCommands();
    }

    /** Returns whether reads can be handed over. For any thread. */
    boolean isAlive() {
        return !ended && !closing;
    }

    /** Ends the thread and its reads because the device is lost; {@link #shutDown} still has to be called. For any thread. */
    void deviceLost() {
        closing = true;
        waits.wake();
    }

    /** Returns whether the completion queue has room for the completion of another request. */
    boolean hasRoom() {
        return posted < maxPosted;
    }

    void posted() {
        posted++;
    }

    void retired() {
        posted--;
    }

    /** Returns the chain to post with, emptied. */
    SendRequests emptyChain() {
        chain.clear();
        return chain;
    }

    /** Posts the receive for the one answer that a connection waits for. */
    void postReceive(Connection connection) {
        receive.clear();
        receive.add(
                connection.receiveId(),
                connection.slot().address() + ANSWER_OFFSET,
                RegionTable.MAX_ANSWER_BYTES,
                connection.slot().localKey());
        if (connection.pair().post(receive) != 1) {
            throw new IllegalStateException(connection.pair() + " took no receive");
        }
    }

    void connect(Link link) {
        control.connect(link);
    }

    boolean register(Connection connection) {
        return connections.add(connection);
    }

    void unregister(Connection connection) {
        connections.remove(connection);
    }

    /** Has the control thread end a connection whose queue pair is closed. */
    void closeIdentity(Connection connection) {
        control.execute(() -> {
            connection.releaseSlot();
            control.farewell(rail, connection.id());
        });
    }

    /** Passes a device's event on to the connection that it is about, if it is one of this worker's. For any thread. */
    void deviceEvent(AsyncEvent event) {
        execute(() -> connections.forEach(connection -> {
            if (event.isAbout(connection.pair())) {
                connection
                        .link()
                        .broken(connection, new ReadFailedException(Reason.TRANSPORT_ERROR, event.description()));
            }
        }));
    }

    private void run() {
        try {
            loop();
        } catch (RuntimeException | Error e) {
            LOG.error("data thread of {} failed; Spark's block transfer serves every peer of it", rail.port(), e);
        }
        try {
            closeLinks();
        } finally {
            ended = true;
            runLateCommands();
        }
    }

    private void loop() {
        long lastWork = System.nanoTime();
        while (!closing) {
            boolean worked = runCommands();
            worked |= takeReads();
            worked |= pollCompletions();
            long now = System.nanoTime();
            worked |= advanceLinks(now);
            if (now - nextExpiry >= 0) {
                nextExpiry = now + BUSY_TICK_NANOS;
                expireLinks();
            }
            if (worked) {
                lastWork = now;
            } else if (now - lastWork < pollNanos) {
                Thread.onSpinWait();
            } else {
                sleep();
            }
        }
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
            Link link = read.peer().linkOf(this);
            if (!link.isListed()) {
                links.add(link);
            }
            link.add(read);
            read = after;
        }
        return any;
    }

    private boolean advanceLinks(long now) {
        boolean any = false;
        for (int i = 0; i < links.size(); i++) {
            any |= links.get(i).advance(now);
        }
        return any;
    }

    private void expireLinks() {
        for (int i = links.size() - 1; i >= 0; i--) {
            Link link = links.get(i);
            if (link.isClosed()) {
                links.remove(i);
                link.unlisted();
            } else {
                link.expire();
            }
        }
    }

    private boolean pollCompletions() {
        int count = queue.poll(completions);
        for (int i = 0; i < count; i++) {
            long id = completions.workRequestId(i);
            Connection connection = connections.find(Connection.serialOf(id));
            if (connection == null) {
                // Left over from a queue pair that is closed.
                continue;
            }
            Link link = connection.link();
            if (!completions.succeeded(i)) {
                link.broken(connection, failure(link, i));
            } else if (Connection.isReceive(id)) {
                link.answered(connection, completions.lengthBytes(i));
            } else {
                link.completed(connection, id);
            }
        }
        return count > 0;
    }

    private ReadFailedException failure(Link link, int completion) {
        CompletionStatus status = completions.status(completion);
        WorkFailedException cause = new WorkFailedException(
                "READ",
                "executor " + link.peer().peerId() + " at " + link.target(),
                status,
                completions.vendorError(completion));
        Reason reason = status == CompletionStatus.RETRY_EXCEEDED ? Reason.PEER_GONE : Reason.TRANSPORT_ERROR;
        return new ReadFailedException(reason, String.valueOf(cause.getMessage()), cause);
    }

    /** Sleeps until there is something to do. The order loses no wake-up: announce, arm, look once more, wait. */
    private void sleep() {
        sleeping = true;
        try {
            queue.arm();
            if (inbox.isEmpty() && commands.isEmpty() && !closing && !pollCompletions()) {
                waits.await(isBusy() ? BUSY_TICK_NANOS : IDLE_TICK_NANOS);
            }
        } finally {
            sleeping = false;
        }
        while (channel.nextEvent() != null) {
            // The event says no more than that it is time to poll.
        }
    }

    private boolean isBusy() {
        for (int i = 0; i < links.size(); i++) {
            if (links.get(i).isBusy()) {
                return true;
            }
        }
        return false;
    }

    /** Ends all reads; the last act of the data thread. */
    private void closeLinks() {
        runCommands();
        takeReads();
        ReadFailedException failure = closedFailure();
        for (Link link : links) {
            try {
                link.close(failure);
            } catch (RuntimeException | Error e) {
                LOG.error("a link to executor {} did not close", link.peer().peerId(), e);
            }
        }
        PendingRead late = inbox.close();
        while (late != null) {
            PendingRead after = late.next;
            reads.fail(late, failure);
            late = after;
        }
    }

    private static ReadFailedException closedFailure() {
        return new ReadFailedException(Reason.CLOSED, "verbs fabric is closed");
    }

    /**
     * Fails what is outstanding and ends the thread; waits for it, at most 10 s. Returns false if the thread still runs, when
     * nothing that it uses may be closed.
     */
    boolean shutDown() {
        closing = true;
        waits.wake();
        if (!Threads.join(thread, CLOSE_MILLIS)) {
            LOG.error("{} still runs {} ms after it was closed; its memory is kept", thread.getName(), CLOSE_MILLIS);
            return false;
        }
        queue.close();
        channel.close();
        waits.close();
        completions.close();
        chain.close();
        receive.close();
        return true;
    }
}
