// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.connect.ControlThread;
import io.rdmashuffle.fabric.verbs.connect.RailEvents;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.EventChannel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A rail and the threads that serve and read through it: opened together, lost together, closed together.
 *
 * <p><b>Threading:</b> {@link #listen}, {@link #start} and {@link #close} are for one thread, the rest for any.
 *
 * <p><b>Ownership:</b> owns event channel, rail, control thread and data threads; {@link #close} ends them in an order
 * in which nothing is handed to a thread that has ended.
 */
final class RunningRail {
    private static final Logger LOG = LoggerFactory.getLogger(RunningRail.class);
    private static final long CLOSE_MILLIS = 10_000;

    private final EventChannel events;
    private final Rail rail;
    private final ControlThread control;
    private final List<DataThread> dataThreads = new ArrayList<>();
    private final FabricThreads threads = new FabricThreads();
    private final Runnable onLost;
    private volatile @Nullable String whyLost;

    private RunningRail(RailParts parts, EventChannel events, Rail rail) {
        this.events = events;
        this.rail = rail;
        this.onLost = parts.lost();
        this.control = new ControlThread(
                events,
                rail,
                parts.fabricId(),
                parts.settings().forConnecting(),
                parts.staging(),
                parts.admissions(),
                new FromControl(),
                parts.nanoClock());
    }

    private void createDataThreads(RailParts parts) {
        VerbsSettings settings = parts.settings();
        for (int i = 0; i < settings.threads(); i++) {
            dataThreads.add(new DataThread(
                    rail.index() * settings.threads() + i,
                    rail,
                    control,
                    parts.reads(),
                    settings.pollTime(),
                    settings.idleTimeout(),
                    parts.nanoClock()));
        }
    }

    /**
     * Opens a port; nothing is served or read before {@link #listen} and {@link #start}.
     *
     * @throws io.rdmashuffle.ffi.NativeException if the device refuses a resource
     */
    static RunningRail open(RailParts parts, int index, LocalPort port) {
        return open(parts, index, port, 0, false);
    }

    /**
     * Opens the port that has an address which another rail had, to listen where that did.
     *
     * @throws io.rdmashuffle.ffi.NativeException if there is no such port now, or not all that is needed
     */
    static RunningRail reopen(RailParts parts, int index, LocalPort before, int listenPort) {
        return open(parts, index, before, listenPort, true);
    }

    private static RunningRail open(RailParts parts, int index, LocalPort port, int listenPort, boolean again) {
        EventChannel events = EventChannel.open(parts.library());
        Rail rail = null;
        RunningRail opened = null;
        boolean complete = false;
        try {
            VerbsSettings settings = parts.settings();
            LocalPort at = again ? port.foundAgain(events) : port;
            int trafficClass = settings.tuning().trafficClass();
            rail = Rail.open(index, at, listenPort, events, trafficClass, settings.forRails());
            opened = new RunningRail(parts, events, rail);
            opened.createDataThreads(parts);
            complete = true;
            return opened;
        } finally {
            if (!complete && opened != null) {
                boolean unused = opened.close();
            } else if (!complete) {
                // Resources of the rail's device close with it.
                if (rail != null) {
                    rail.close();
                }
                events.close();
            }
        }
    }

    /** Device state as the control thread reports it. */
    private final class FromControl implements RailEvents {
        @Override
        public void pairFailed(AsyncEvent event) {
            dataThreads.forEach(thread -> thread.deviceEvent(event));
        }

        @Override
        public void lost(String why) {
            if (whyLost != null) {
                return;
            }
            whyLost = why;
            ReadFailedException failure = new ReadFailedException(Reason.NOT_CONNECTED, rail.port() + ": " + why);
            dataThreads.forEach(thread -> thread.lose(failure));
            onLost.run();
        }
    }

    /**
     * Listens for peers, who wait for {@link #start}.
     *
     * @throws io.rdmashuffle.ffi.NativeException if something else listens there
     */
    void listen() {
        rail.listen();
    }

    /** Starts the threads. Who may revoke a process must see this rail before, to end what that one reads here. */
    void start() {
        threads.start("rdma-control-" + rail.index(), control);
        for (DataThread thread : dataThreads) {
            threads.start("rdma-read-" + thread.lane(), thread);
        }
    }

    Rail rail() {
        return rail;
    }

    ControlThread control() {
        return control;
    }

    List<DataThread> dataThreads() {
        return dataThreads;
    }

    /** Returns the reason why the device is lost; null if it is not. */
    @Nullable
    String whyLost() {
        return whyLost;
    }

    FabricWork work() {
        return dataThreads.stream().map(DataThread::work).reduce(FabricWork.NONE, FabricWork::plus);
    }

    /**
     * Ends outstanding reads, then threads, then closes the device's resources. Returns false if a thread still runs:
     * it may be inside the device, so its resources stay open.
     */
    boolean close() {
        control.stop();
        if (threads.hasStarted(control)) {
            control.awaitConnectingStopped(CLOSE_MILLIS);
        }
        dataThreads.forEach(DataThread::stop);
        boolean ended = true;
        for (DataThread thread : dataThreads) {
            ended &= endAndClose(thread, thread::close);
        }
        ended &= endAndClose(control, control::close);
        if (ended) {
            quietly(rail::close);
            quietly(events::close);
        }
        return ended;
    }

    /** Waits for the end of a part's thread and closes the part; returns false if the thread still runs. */
    private boolean endAndClose(Runnable part, Runnable close) {
        if (!threads.hasStarted(part)) {
            // It has been stopped: this releases its resources.
            quietly(part);
        } else if (!threads.join(part, CLOSE_MILLIS)) {
            return false;
        }
        quietly(close);
        return true;
    }

    private void quietly(Runnable close) {
        try {
            close.run();
        } catch (RuntimeException e) {
            LOG.warn("{}: a part of the verbs fabric did not close cleanly", rail.port(), e);
        }
    }
}
