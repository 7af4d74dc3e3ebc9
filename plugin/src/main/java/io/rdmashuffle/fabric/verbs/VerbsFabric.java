// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.verbs.connect.ConnectSettings;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.read.DataThread;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import io.rdmashuffle.fabric.verbs.stage.DiskStaging;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fabric of RDMA READs.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns rails, staging, its threads and the thread that opens lost rails again; {@link #close()}
 * ends them in an order in which nothing is handed to a thread that has ended.
 */
public final class VerbsFabric implements Fabric {
    /** The name under which addresses are announced. */
    public static final String NAME = "verbs";

    private static final Logger LOG = LoggerFactory.getLogger(VerbsFabric.class);
    private static final long CLOSE_MILLIS = 10_000;
    /** Longer than closing a rail and opening it again takes, unless a device does not answer. */
    private static final long RECOVERY_MILLIS = 60_000;

    private final long fabricId = new SecureRandom().nextLong();
    private final Admissions admissions = new Admissions();
    private final RegisteredRegions regions = new RegisteredRegions();
    private final List<RailSlot> slots = new ArrayList<>();
    private final RailRecovery recovery = new RailRecovery(slots, this::tendEnded);
    private final EndedPools ended = new EndedPools(recovery::wake);
    private final Lanes lanes;
    private final PendingReads reads;
    private final DiskStaging staging;
    private final FabricThreads threads = new FabricThreads();
    private volatile boolean closed;

    private VerbsFabric(VerbsSettings settings) {
        this.reads = new PendingReads(settings.maxBytesInFlight());
        this.staging = new DiskStaging(
                settings.maxBytesStaged(), ConnectSettings.MAX_STAGED, settings.readTimeout(), threads::start);
        this.lanes = new Lanes(slots, settings.threads(), () -> closed);
    }

    /**
     * Opens the ports and starts to serve; regions are added afterwards.
     *
     * @throws RdmaUnavailableException if this machine has no RDMA that could be used, saying why in one line
     */
    public static VerbsFabric open(VerbsSettings settings) throws RdmaUnavailableException {
        VerbsLibrary library = VerbsLibrary.load();
        try {
            List<LocalPort> ports = new PortWait(library).choose(settings.ports(), settings.deviceTimeout());
            VerbsFabric fabric = open(library, ports, settings, System::nanoTime);
            LOG.info("verbs: {} (spark.shuffle.rdma.fabric.verbs.devices)", ports);
            return fabric;
        } catch (NativeException e) {
            throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Opens these ports. */
    static VerbsFabric open(
            VerbsLibrary library, List<LocalPort> ports, VerbsSettings settings, LongSupplier nanoClock) {
        VerbsFabric fabric = new VerbsFabric(settings);
        boolean opened = false;
        try {
            fabric.start(library, ports, settings, nanoClock);
            opened = true;
            return fabric;
        } finally {
            if (!opened) {
                fabric.close();
            }
        }
    }

    private void start(VerbsLibrary library, List<LocalPort> ports, VerbsSettings settings, LongSupplier nanoClock) {
        RailParts parts =
                new RailParts(library, fabricId, settings, reads, staging, admissions, recovery::wake, nanoClock);
        for (LocalPort port : ports) {
            slots.add(new RailSlot(parts, regions, slots.size(), port));
        }
        slots.forEach(RailSlot::start);
        threads.start("rdma-rails-0", recovery);
    }

    private Stream<RunningRail> running() {
        return slots.stream().map(RailSlot::running).filter(Objects::nonNull);
    }

    @Override
    public boolean stages() {
        return true;
    }

    @Override
    public int pinnings() {
        return (int) slots.stream().filter(RailSlot::pins).count();
    }

    @Override
    public String name() {
        return NAME;
    }

    /** Registers the region with every rail that is not lost, or with none. */
    @Override
    public void regionAdded(Region region) {
        regions.add(region);
    }

    /** Deregisters the region from every rail; after a failure it remains readable over the following rails. */
    @Override
    public void regionRemoved(Region region) {
        regions.remove(region);
    }

    @Override
    public void serve(TieredPool pool) {
        staging.serve(pool);
    }

    @Override
    public byte[] localAddress() {
        return addressOf(fabricId);
    }

    private byte[] addressOf(long process) {
        return new VerbsAddress(process, slots.stream().map(RailSlot::address).toList()).encode();
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        return new VerbsPeer(peerId, VerbsAddress.decode(address), lanes, reads);
    }

    @Override
    public void revoke(byte[] address) {
        try {
            long left = VerbsAddress.decode(address).fabricId();
            // Also for rails that are lost now.
            admissions.revoke(left);
            running().forEach(rail -> rail.control().endServed(left));
        } catch (PeerUnreachableException e) {
            LOG.debug("A process that left had an address that does not tell which it is", e);
        }
    }

    @Override
    public void admit(byte[] address) {
        try {
            admissions.admit(VerbsAddress.decode(address).fabricId());
        } catch (PeerUnreachableException e) {
            LOG.debug("A process that came has an address that does not tell which it is", e);
        }
    }

    /** {@inheritDoc} Under its own fabric id, at this process's rails. */
    @Override
    public byte @Nullable [] inherit(byte[] address, EndedPool pool) throws PeerUnreachableException {
        long process = VerbsAddress.decode(address).fabricId();
        return process != fabricId && ended.inherit(process, pool) ? addressOf(process) : null;
    }

    @Override
    public void renounce(byte[] address, EndedPool pool) {
        try {
            ended.renounce(VerbsAddress.decode(address).fabricId());
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that does not tell which process it is of serves no pool", e);
        }
    }

    private void tendEnded() {
        ended.tend(running().filter(rail -> rail.whyLost() == null).toList());
    }

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public long registrations() {
        return slots.stream().mapToLong(RailSlot::registrations).sum();
    }

    @Override
    public FabricWork work() {
        return slots.stream().map(RailSlot::work).reduce(FabricWork.NONE, FabricWork::plus);
    }

    @Override
    public FabricLoad load() {
        return reads.load();
    }

    @Override
    public Latencies readLatencies() {
        return reads.meter().latencies();
    }

    /** Returns the rails that are not lost. */
    List<Rail> rails() {
        return running().map(RunningRail::rail).toList();
    }

    /** Returns the data threads of the rails that are not lost. */
    List<DataThread> dataThreads() {
        return running().flatMap(rail -> rail.dataThreads().stream()).toList();
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        recovery.stop();
        if (threads.join(recovery, RECOVERY_MILLIS)) {
            slots.forEach(RailSlot::close);
        }
        // Bytes that it still stages for a peer are released on its own thread.
        for (Runnable reader : staging.stop()) {
            boolean unused = threads.join(reader, CLOSE_MILLIS);
        }
    }

    /**
     * Recovery of rails with a lost device, and registration of ended processes' pools, on its own thread: all may wait
     * for a device.
     *
     * <p><b>Threading:</b> {@link #run} is that thread's, the rest is for any.
     */
    private static final class RailRecovery implements Runnable {
        private static final long IDLE_TICK_MILLIS = 60_000;
        private static final long LOST_TICK_MILLIS = TimeUnit.NANOSECONDS.toMillis(RailSlot.FIRST_PAUSE_NANOS) / 2;

        private final List<RailSlot> slots;
        private final Runnable tendEnded;
        private final Semaphore woken = new Semaphore(0);
        private volatile boolean closing;

        /**
         * Maintains rails, of which none need be there yet.
         *
         * @param tendEnded called after the rails have been looked at
         */
        RailRecovery(List<RailSlot> slots, Runnable tendEnded) {
            this.slots = slots;
            this.tendEnded = tendEnded;
        }

        /** Wakes {@link #run} to look at its rails now. */
        void wake() {
            woken.release();
        }

        /** Ends {@link #run}. */
        void stop() {
            closing = true;
            wake();
        }

        /** Maintains the rails until {@link #stop}. */
        @Override
        public void run() {
            while (!closing) {
                boolean anyLost = slots.stream().anyMatch(RailSlot::isLost);
                try {
                    if (woken.tryAcquire(anyLost ? LOST_TICK_MILLIS : IDLE_TICK_MILLIS, TimeUnit.MILLISECONDS)) {
                        woken.drainPermits();
                    }
                } catch (InterruptedException e) {
                    LOG.debug("Rail thread interrupted; only stop() ends it", e);
                }
                for (RailSlot slot : slots) {
                    if (!closing) {
                        recover(slot);
                    }
                }
                if (!closing) {
                    tendEnded();
                }
            }
        }

        private void tendEnded() {
            try {
                tendEnded.run();
            } catch (RuntimeException | Error e) {
                LOG.warn("Cannot register or release the pool of an executor that has ended; retrying later", e);
            }
        }

        private static void recover(RailSlot slot) {
            try {
                slot.recover();
            } catch (RuntimeException | Error e) {
                LOG.warn("Could not reopen the rail at {}; retrying later", slot.address(), e);
            }
        }
    }
}
