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
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control thread: every step of every connection, the few messages that go by SEND, and the events of the devices.
 *
 * <p><b>Threading:</b> {@link #execute}, {@link #connect} and {@link #close} are for any thread, everything that it calls runs
 * on the control thread.
 *
 * <p><b>Ownership:</b> owns thread, acceptor and attempts; the event channel is the fabric's.
 */
final class ControlLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlLoop.class);
    private static final long BUSY_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_TICK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long CLOSE_MILLIS = 10_000;

    private final EventChannel events;
    private final List<Rail> rails;
    private final Acceptor acceptor;
    private final Connector connector;
    private final Consumer<AsyncEvent> deviceEvents;
    private final WaitSet waits;
    private final Thread thread;
    /** At most a few entries per connection. */
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    private final Map<CmId, Consumer<CmEvent>> listeners = new HashMap<>();
    private final CountDownLatch stoppedConnecting = new CountDownLatch(1);
    private volatile boolean closing;

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
            Consumer<AsyncEvent> deviceEvents) {
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

    /** Forgets an id; on the control thread. */
    void forget(CmId id) {
        listeners.remove(id);
    }

    Acceptor acceptor() {
        return acceptor;
    }

    private void run() {
        while (!closing) {
            try {
                step();
            } catch (RuntimeException e) {
                // One connection's trouble is not the others'; what it held is closed with the fabric.
                LOG.warn("a control step of the verbs fabric failed", e);
            }
        }
        quietly(connector::close);
        stoppedConnecting.countDown();
        quietly(acceptor::close);
        runCommands();
    }

    private void step() {
        runCommands();
        for (CmEvent event = events.nextEvent(); event != null; event = events.nextEvent()) {
            dispatch(event);
        }
        for (Rail rail : rails) {
            AsyncEvent event = rail.context().nextAsyncEvent();
            while (event != null) {
                onDeviceEvent(rail, event);
                event = rail.context().nextAsyncEvent();
            }
        }
        acceptor.serve();
        connector.expire();
        if (commands.isEmpty() && !closing && acceptor.arm()) {
            waits.await(connector.isBusy() ? BUSY_TICK_NANOS : IDLE_TICK_NANOS);
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
        deviceEvents.accept(event);
    }

    private void runCommands() {
        List<Runnable> now = new ArrayList<>();
        for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
            now.add(command);
        }
        now.forEach(ControlLoop::quietly);
    }

    private static void quietly(Runnable command) {
        try {
            command.run();
        } catch (RuntimeException e) {
            LOG.warn("a control step of the verbs fabric failed", e);
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

    /** Ends the thread and what it serves; what data threads have still to end is ended here. */
    @Override
    public void close() {
        stopConnecting();
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.warn("{} still runs {} ms after it was closed; its memory is kept", thread.getName(), CLOSE_MILLIS);
            return;
        }
        runCommands();
        waits.close();
    }
}
