// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.WaitSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Work of the control thread: every step of every connection, the few messages that go by SEND, and the events of the
 * device: all of one rail.
 *
 * <p><b>Threading:</b> {@link #run} is the control thread's, on which everything that it calls runs; {@link #connect},
 * {@link #closeIdentity}, {@link #endServed}, {@link #endInherited} and {@link #stop} are for any thread,
 * {@link #close} for one when {@link #run} has returned.
 *
 * <p><b>Ownership:</b> owns acceptor and attempts; event channel and rail are its creator's.
 */
public final class ControlThread implements ConnectionService, Runnable, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlThread.class);
    private static final long IDLE_TICK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int MAX_PAUSE_DOUBLINGS = 6;
    private static final long INSTANT_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
    private static final int MAX_INSTANT_WAKES = 1_000;

    private final EventChannel events;
    private final Rail rail;
    private final Acceptor acceptor;
    private final Connector connector;
    private final ConnectionIds ids;
    private final RailEvents railEvents;
    private final LongSupplier nanoClock;
    private final WaitSet waits;
    /** At most a few entries per connection. */
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    private final CountDownLatch stoppedConnecting = new CountDownLatch(1);
    private volatile boolean closing;
    private volatile boolean ended;
    private int instantWakes;

    /**
     * Prepares to serve, which {@link #run} does.
     *
     * @param staging reads the disk for peers
     * @param railEvents told what happens to the device
     */
    public ControlThread(
            EventChannel events,
            Rail rail,
            long fabricId,
            ConnectSettings settings,
            StagingService staging,
            Admissions admissions,
            RailEvents railEvents,
            LongSupplier nanoClock) {
        this.events = events;
        this.rail = rail;
        this.railEvents = railEvents;
        this.nanoClock = nanoClock;
        this.ids = new ConnectionIds(rail);
        QueryResponder responder = new QueryResponder(rail, staging, this::execute, nanoClock);
        this.acceptor = new Acceptor(ids, responder, fabricId, settings, admissions, nanoClock);
        this.connector = new Connector(
                events,
                ids,
                fabricId,
                settings,
                nanoClock,
                new AttemptWindow(AttemptWindow.FIRST),
                bound -> ThreadLocalRandom.current().nextLong(bound));
        this.waits = new WaitSet(3);
        waits.add(events.fileDescriptor());
        waits.add(rail.context().asyncFileDescriptor());
        waits.add(acceptor.fileDescriptor());
    }

    /** Runs something on the control thread, or here once that has ended. */
    private void execute(Runnable command) {
        commands.add(command);
        waits.wake();
        if (ended) {
            runLateCommands();
        }
    }

    /** Everything is closed: late commands release their resources. */
    private synchronized void runLateCommands() {
        runCommands();
    }

    @Override
    public void connect(ConnectionTarget target, ConnectionListener listener) {
        execute(() -> connector.start(target, listener));
    }

    @Override
    public void closeIdentity(EstablishedPair pair) {
        execute(() -> {
            rail.controlMemory().release(pair.slot());
            ids.end(pair.id());
        });
    }

    /**
     * Ends what a process reads here, in the next step. Its requests are refused by {@link Admissions}, which it must
     * have been revoked in before. For any thread.
     */
    public void endServed(long fabricId) {
        execute(() -> acceptor.endServed(fabricId));
    }

    /** Ends reads of the pool of an ended process, which the rail does not have any more, in the next step. */
    public void endInherited(long fabricId) {
        execute(() -> acceptor.endInherited(fabricId));
    }

    /** Serves until {@link #stop}. */
    @Override
    public void run() {
        try {
            int failures = 0;
            while (!closing) {
                boolean failed = !step(true);
                failures = failed ? Math.min(failures + 1, MAX_PAUSE_DOUBLINGS) : 0;
                if (failed) {
                    LockSupport.parkNanos(FIRST_PAUSE_NANOS << failures);
                }
            }
        } finally {
            quietly(connector::close);
            stoppedConnecting.countDown();
            quietly(acceptor::close);
            runCommands();
            quietly(ids::close);
            ended = true;
            runLateCommands();
        }
    }

    /**
     * Does what there is to do, then waits if it may; returns false if a part failed, which the others do not suffer
     * from.
     */
    boolean step(boolean mayWait) {
        runCommands();
        boolean fine = quietly(this::takeEvents);
        fine &= quietly(this::takeDeviceEvents);
        fine &= quietly(acceptor::serve);
        fine &= quietly(acceptor::expire);
        fine &= quietly(connector::serve);
        fine &= quietly(ids::endDeferred);
        if (mayWait && fine && commands.isEmpty() && !closing) {
            fine = quietly(this::sleep);
        }
        return fine;
    }

    private void takeEvents() {
        for (CmEvent event = events.nextEvent(); event != null; event = events.nextEvent()) {
            dispatch(event);
            // Many peers that connect at once must not leave queries without a receive.
            acceptor.serve();
        }
    }

    private void takeDeviceEvents() {
        AsyncEvent event = rail.context().nextAsyncEvent();
        while (event != null) {
            onDeviceEvent(event);
            event = rail.context().nextAsyncEvent();
        }
    }

    private void sleep() {
        if (!acceptor.arm()) {
            return;
        }
        long started = nanoClock.getAsLong();
        boolean woken = waits.await(connector.nanosToWait(IDLE_TICK_NANOS));
        // A descriptor that is ready for ever, as that of a removed device, must not keep a core busy.
        instantWakes = woken && nanoClock.getAsLong() - started < INSTANT_NANOS ? instantWakes + 1 : 0;
        if (instantWakes > MAX_INSTANT_WAKES) {
            LockSupport.parkNanos(FIRST_PAUSE_NANOS);
        }
    }

    private void dispatch(CmEvent event) {
        if (event.type() == CmEvent.Type.CONNECT_REQUEST) {
            acceptor.onRequest(event);
            return;
        }
        if (event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            // Of the listener and of every connection. A driver may wait for all of them to be closed.
            railEvents.lost("the device is being removed");
        }
        ids.dispatch(event);
    }

    private void onDeviceEvent(AsyncEvent event) {
        switch (event.type()) {
            case PORT_DOWN ->
                LOG.warn(
                        "{}: {}; other ports, TCP or Spark's block transfer serve until it is active",
                        rail.port(),
                        event.description());
            case PORT_ACTIVE -> LOG.info("{}: {}", rail.port(), event.description());
            default -> LOG.debug("{}: {}", rail.port(), event.description());
        }
        acceptor.onDeviceEvent(event);
        switch (event.type()) {
            case QUEUE_PAIR_FATAL -> railEvents.pairFailed(event);
            // Completions are lost, or peers' questions, so nothing on this rail would ever end but by its deadline.
            case DEVICE_FATAL, COMPLETION_QUEUE_ERROR, SHARED_RECEIVE_QUEUE_ERROR ->
                railEvents.lost(event.description());
            default -> {
                // Told above.
            }
        }
    }

    private void runCommands() {
        List<Runnable> now = new ArrayList<>();
        for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
            now.add(command);
        }
        now.forEach(ControlThread::quietly);
    }

    /** A failure of one connection does not affect others; its resources are closed with the fabric. */
    private static boolean quietly(Runnable command) {
        try {
            command.run();
            return true;
        } catch (RuntimeException | Error e) {
            LOG.warn("Unexpected error in the RDMA control thread; continuing", e);
            return false;
        }
    }

    /** Ends attempts to connect, and then {@link #run}. */
    public void stop() {
        closing = true;
        waits.wake();
    }

    /** Waits until no listener is handed a connection any more, after {@link #stop}; at most so long. */
    public void awaitConnectingStopped(long timeoutMillis) {
        try {
            if (!stoppedConnecting.await(timeoutMillis, TimeUnit.MILLISECONDS)) {
                LOG.warn(
                        "Connection attempts are still running {} ms after the verbs fabric was closed", timeoutMillis);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends what data threads had still to end; after {@link #run} has returned. */
    @Override
    public void close() {
        runLateCommands();
        waits.close();
    }
}
