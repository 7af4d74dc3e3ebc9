package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.WaitSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control thread: every step of every connection, the few messages that go by SEND, and the events of the devices.
 *
 * <p><b>Threading:</b> {@link #execute}, {@link #connect} and {@link #shutDown} are for any thread, everything that it calls runs
 * on the control thread.
 *
 * <p><b>Ownership:</b> owns thread, acceptor and attempts; the event channel is the fabric's.
 */
final class ControlLoop {
    private static final Logger LOG = LoggerFactory.getLogger(ControlLoop.class);
    private static final long BUSY_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_TICK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long CLOSE_MILLIS = 10_000;
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int MAX_PAUSE_DOUBLINGS = 6;
    private static final long INSTANT_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
    private static final int MAX_INSTANT_WAKES = 1_000;

    private final EventChannel events;
    private final List<Rail> rails;
    private final Acceptor acceptor;
    private final Connector connector;
    private final Farewells farewells = new Farewells();
    private final BiConsumer<Rail, AsyncEvent> deviceEvents;
    private final WaitSet waits;
    private final Thread thread;
    /** At most a few entries per connection. */
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    private final Map<CmId, Consumer<CmEvent>> listeners = new HashMap<>();
    private final CountDownLatch stoppedConnecting = new CountDownLatch(1);
    private volatile boolean closing;
    private int instantWakes;

    /**
     * Prepares to serve; {@link #start} does.
     *
     * @param deviceEvents told of what happens to devices, on the control thread
     */
    ControlLoop(
            EventChannel events,
            List<Rail> rails,
            long fabricId,
            VerbsSettings settings,
            BiConsumer<Rail, AsyncEvent> deviceEvents) {
        this.events = events;
        this.rails = List.copyOf(rails);
        this.deviceEvents = deviceEvents;
        this.acceptor = new Acceptor(this, rails, fabricId, settings);
        this.connector = new Connector(this, events, fabricId, settings);
        this.waits = new WaitSet(1 + 2 * rails.size());
        waits.add(events.fileDescriptor());
        for (Rail rail : rails) {
            waits.add(rail.context().asyncFileDescriptor());
            waits.add(acceptor.fileDescriptor(rail));
        }
        this.thread = new Thread(this::run, "rdma-control-0");
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Runs something on the control thread. */
    void execute(Runnable command) {
        commands.add(command);
        waits.wake();
    }

    /** Starts to connect a link, which is told of the outcome on its data thread. */
    void connect(Link link) {
        execute(() -> connector.start(link));
    }

    /** Has the steps of an id told to somebody; on the control thread. */
    void listen(CmId id, Consumer<CmEvent> listener) {
        listeners.put(id, listener);
    }

    /** Ends a connection whose queue pair is closed, as soon as its port is up; on the control thread. */
    void farewell(Rail rail, CmId id) {
        listeners.remove(id);
        farewells.end(rail, id);
    }

    private void run() {
        try {
            int failures = 0;
            while (!closing) {
                boolean failed = !step();
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
            quietly(farewells::close);
        }
    }

    /** Does what there is to do, then waits; returns false if a part failed, which the others do not suffer from. */
    private boolean step() {
        runCommands();
        boolean fine = quietly(this::takeEvents);
        fine &= quietly(this::takeDeviceEvents);
        fine &= quietly(acceptor::serve);
        fine &= quietly(connector::expire);
        fine &= quietly(farewells::serve);
        if (fine && commands.isEmpty() && !closing) {
            fine = quietly(this::sleep);
        }
        return fine;
    }

    private void takeEvents() {
        for (CmEvent event = events.nextEvent(); event != null; event = events.nextEvent()) {
            dispatch(event);
            // Many peers that connect at once must not leave questions without a receive.
            acceptor.serve();
        }
    }

    private void takeDeviceEvents() {
        for (Rail rail : rails) {
            AsyncEvent event = rail.context().nextAsyncEvent();
            while (event != null) {
                onDeviceEvent(rail, event);
                event = rail.context().nextAsyncEvent();
            }
        }
    }

    private void sleep() {
        if (!acceptor.arm()) {
            return;
        }
        long started = System.nanoTime();
        boolean woken = waits.await(connector.isBusy() ? BUSY_TICK_NANOS : IDLE_TICK_NANOS);
        // A descriptor that is ready for ever, as that of a removed device, must not keep a core busy.
        instantWakes = woken && System.nanoTime() - started < INSTANT_NANOS ? instantWakes + 1 : 0;
        if (instantWakes > MAX_INSTANT_WAKES) {
            LockSupport.parkNanos(FIRST_PAUSE_NANOS);
        }
    }

    private void dispatch(CmEvent event) {
        if (event.type() == CmEvent.Type.CONNECT_REQUEST) {
            acceptor.onRequest(event);
            return;
        }
        Consumer<CmEvent> listener = listeners.get(event.id());
        if (listener == null) {
            LOG.debug("nobody waits for {}", event.describe());
        } else {
            listener.accept(event);
        }
    }

    private void onDeviceEvent(Rail rail, AsyncEvent event) {
        switch (event.type()) {
            case PORT_DOWN, DEVICE_FATAL -> LOG.warn("{}: {}", rail.port(), event.description());
            case PORT_ACTIVE -> LOG.info("{}: {}", rail.port(), event.description());
            default -> LOG.debug("{}: {}", rail.port(), event.description());
        }
        acceptor.onDeviceEvent(event);
        deviceEvents.accept(rail, event);
    }

    private void runCommands() {
        List<Runnable> now = new ArrayList<>();
        for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
            now.add(command);
        }
        now.forEach(ControlLoop::quietly);
    }

    /** One connection's trouble is not the others'; what it held is closed with the fabric. */
    private static boolean quietly(Runnable command) {
        try {
            command.run();
            return true;
        } catch (RuntimeException | Error e) {
            LOG.warn("a control step of the verbs fabric failed", e);
            return false;
        }
    }

    /** Ends attempts to connect, so that no data thread is handed a connection any more; waits for that. */
    void stopConnecting() {
        closing = true;
        waits.wake();
        try {
            if (!stoppedConnecting.await(CLOSE_MILLIS, TimeUnit.MILLISECONDS)) {
                LOG.warn("attempts to connect still run {} ms after the verbs fabric was closed", CLOSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Ends the thread and what it serves; what data threads have still to end is ended here. Returns false if the thread still
     * runs, when nothing that it uses may be closed.
     */
    boolean shutDown() {
        stopConnecting();
        if (!Threads.join(thread, CLOSE_MILLIS)) {
            LOG.error("{} still runs {} ms after it was closed; its memory is kept", thread.getName(), CLOSE_MILLIS);
            return false;
        }
        runCommands();
        waits.close();
        return true;
    }
}
