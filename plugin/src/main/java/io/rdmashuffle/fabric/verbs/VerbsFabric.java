// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.verbs.connect.ControlThread;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.PortFinder;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import io.rdmashuffle.fabric.verbs.stage.DiskStaging;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.TieredPool;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the pools of other processes by RDMA READ.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns event channel, rails, data threads, staging and control thread; {@link #close()} ends them
 * in an order in which nothing is handed to a thread that has ended.
 */
public final class VerbsFabric implements Fabric {
    /** The name under which addresses are announced. */
    public static final String NAME = "verbs";

    private static final Logger LOG = LoggerFactory.getLogger(VerbsFabric.class);
    private static final long CLOSE_MILLIS = 10_000;

    private final long fabricId = new SecureRandom().nextLong();
    private final EventChannel events;
    private final List<Rail> rails = new ArrayList<>();
    private final List<DataThread> dataThreads = new ArrayList<>();
    private final PendingReads reads;
    private final DiskStaging staging;
    private final ControlThread control;
    private final FabricThreads threads = new FabricThreads();
    private boolean closed;

    private VerbsFabric(EventChannel events, List<LocalPort> ports, VerbsSettings settings) {
        this.events = events;
        this.reads = new PendingReads(settings.maxBytesInFlight());
        this.staging = new DiskStaging(settings.maxBytesStaged(), settings.readTimeout());
        boolean complete = false;
        try {
            for (LocalPort port : ports) {
                rails.add(
                        Rail.open(rails.size(), port, events, settings.tuning().trafficClass(), settings.forRails()));
            }
            this.control = new ControlThread(
                    events, rails, fabricId, settings.forConnecting(), staging, this::onDeviceEvent, System::nanoTime);
            for (Rail rail : rails) {
                for (int i = 0; i < settings.threads(); i++) {
                    int lane = dataThreads.size();
                    dataThreads.add(new DataThread(
                            lane, rail, control, reads, settings.pollTime(), settings.idleTimeout(), System::nanoTime));
                }
            }
            complete = true;
        } finally {
            if (!complete) {
                // What was created on a rail's device closes with it.
                rails.forEach(Rail::close);
            }
        }
    }

    /**
     * Opens the ports and starts to serve; regions are added afterwards.
     *
     * @throws RdmaUnavailableException if this machine has no RDMA that could be used, saying why in one line
     */
    public static VerbsFabric open(VerbsSettings settings) throws RdmaUnavailableException {
        VerbsLibrary library = VerbsLibrary.load();
        try {
            EventChannel events = EventChannel.open(library);
            VerbsFabric fabric = null;
            boolean opened = false;
            try {
                List<LocalPort> ports = new PortFinder(library, events).choose(settings.ports());
                fabric = new VerbsFabric(events, ports, settings);
                fabric.start();
                opened = true;
                LOG.info("verbs: {} (spark.shuffle.rdma.fabric.verbs.devices)", ports);
                return fabric;
            } finally {
                if (!opened && fabric != null) {
                    fabric.close();
                } else if (!opened) {
                    events.close();
                }
            }
        } catch (NativeException e) {
            throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
        } catch (UnsatisfiedLinkError e) {
            // A function is looked for when it is first called, and the loader's message often does not name it.
            throw new RdmaUnavailableException(
                    "libibverbs.so.1 or librdmacm.so.1 lacks a function (" + e.getMessage()
                            + "); install rdma-core 23 or newer",
                    e);
        }
    }

    @Override
    public int pinnings() {
        return (int) rails.stream().filter(Rail::pins).count();
    }

    private void start() {
        rails.forEach(Rail::listen);
        threads.start("rdma-staging-0", staging);
        threads.start("rdma-control-0", control);
        for (int lane = 0; lane < dataThreads.size(); lane++) {
            threads.start("rdma-read-" + lane, dataThreads.get(lane));
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    /** Registers the region with every rail, or with none. */
    @Override
    public void regionAdded(Region region) {
        int registered = 0;
        try {
            for (Rail rail : rails) {
                rail.register(region);
                registered++;
            }
        } finally {
            if (registered < rails.size()) {
                rails.subList(0, registered).forEach(Rail::unregisterLast);
            }
        }
    }

    /** Deregisters the region with every rail; one that fails leaves it to be read over those that follow. */
    @Override
    public void regionRemoved(Region region) {
        rails.forEach(rail -> rail.unregister(region));
    }

    @Override
    public void serve(TieredPool pool) {
        staging.serve(pool);
    }

    @Override
    public byte[] localAddress() {
        return new VerbsAddress(fabricId, rails.stream().map(Rail::address).toList()).encode();
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        return new VerbsPeer(peerId, VerbsAddress.decode(address), dataThreads, reads);
    }

    @Override
    public void revoke(byte[] address) {
        try {
            control.revoke(VerbsAddress.decode(address).fabricId());
        } catch (PeerUnreachableException e) {
            LOG.debug("A process that left had an address that does not tell which it is", e);
        }
    }

    @Override
    public void admit(byte[] address) {
        try {
            control.admit(VerbsAddress.decode(address).fabricId());
        } catch (PeerUnreachableException e) {
            LOG.debug("A process that came has an address that does not tell which it is", e);
        }
    }

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public long registrations() {
        return rails.stream().mapToLong(Rail::registrations).sum();
    }

    @Override
    public FabricWork work() {
        return dataThreads.stream().map(DataThread::work).reduce(FabricWork.NONE, FabricWork::plus);
    }

    private void onDeviceEvent(Rail rail, AsyncEvent event) {
        switch (event.type()) {
            case QUEUE_PAIR_FATAL -> dataThreads.forEach(thread -> thread.deviceEvent(event));
            // Completions are lost, so nothing on this rail would ever end but by its deadline.
            case DEVICE_FATAL, COMPLETION_QUEUE_ERROR ->
                dataThreads.stream()
                        .filter(thread -> thread.rail().equals(rail))
                        .forEach(DataThread::stop);
            default -> LOG.debug("{}", event);
        }
    }

    List<Rail> rails() {
        return rails;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        control.stop();
        if (threads.hasStarted(control)) {
            control.awaitConnectingStopped(CLOSE_MILLIS);
        }
        boolean ended = true;
        for (DataThread thread : dataThreads) {
            thread.stop();
            ended &= endAndClose(thread, thread::close);
        }
        staging.stop();
        ended &= endAndClose(staging, () -> {});
        // After the staging thread, whose last outcomes give their leases back on the control side.
        ended &= endAndClose(control, control::close);
        // A thread that still runs may be inside the device: then what it uses stays, rather than being pulled away
        // under it.
        if (ended) {
            for (Rail rail : rails) {
                quietly(rail::close);
            }
            quietly(events::close);
        }
    }

    /** Waits for the end of a part's thread and closes the part; returns false if the thread still runs. */
    private boolean endAndClose(Runnable part, Runnable close) {
        if (!threads.join(part, CLOSE_MILLIS)) {
            return false;
        }
        quietly(close);
        return true;
    }

    private static void quietly(Runnable close) {
        try {
            close.run();
        } catch (RuntimeException e) {
            LOG.warn("A part of the verbs fabric did not close cleanly", e);
        }
    }
}
