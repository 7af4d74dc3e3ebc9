// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.DeviceList;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One of the fabric's rails through the losses of its device: a reset of the firmware, a hot-unplug, {@code rdma link
 * delete}.
 *
 * <pre>
 *  running -- device lost --> closed -- its address is on a port again, regions registered --> running
 *                               |
 *                               +-- a thread does not come back from the device --> given up
 * </pre>
 *
 * <p>It listens at the same address before and after, so that peers, which connect again by themselves, need not be
 * told; regions have other rkeys, which peers ask for on every connection.
 *
 * <p><b>Threading:</b> {@link #recover} is for one thread, and {@link #close} for one after that has ended; the rest is
 * for any.
 *
 * <p><b>Ownership:</b> owns the rail.
 */
final class RailSlot {
    private static final Logger LOG = LoggerFactory.getLogger(RailSlot.class);
    static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    static final long LAST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** A device that is lost again within this time is waited for longer. */
    static final long STEADY_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final RailParts parts;
    private final RegisteredRegions regions;
    private final int index;
    private final LocalPort port;
    private final InetSocketAddress address;
    private final boolean pins;
    private volatile @Nullable RunningRail running;
    private FabricWork workBefore = FabricWork.NONE;
    private long registrationsBefore;
    private long runningSince;
    private long pauseNanos = FIRST_PAUSE_NANOS;
    private long nextAttempt;
    private boolean givenUp;
    private boolean warned;

    /**
     * Opens a port for the first time.
     *
     * @throws NativeException if the device refuses a resource
     */
    RailSlot(RailParts parts, RegisteredRegions regions, int index, LocalPort port) {
        this.parts = parts;
        this.regions = regions;
        this.index = index;
        this.port = port;
        RunningRail first = RunningRail.open(parts, index, port);
        this.running = first;
        this.address = first.rail().address();
        this.pins = first.rail().pins();
        this.runningSince = parts.nanoClock().getAsLong();
        regions.include(first.rail());
    }

    /** Starts the threads of the rail that was opened first. */
    void start() {
        RunningRail first = running;
        if (first != null) {
            first.listen();
            first.start();
        }
    }

    /** Returns the address at which the rail listens, also after recovery. */
    InetSocketAddress address() {
        return address;
    }

    /** Returns whether registering a region pins its pages. */
    boolean pins() {
        return pins;
    }

    /** Returns the rail, null while it is lost. */
    @Nullable
    RunningRail running() {
        return running;
    }

    /** Returns the work of reads since the start. */
    synchronized FabricWork work() {
        RunningRail now = running;
        return now == null ? workBefore : workBefore.plus(now.work());
    }

    /** Returns the number of regions registered since the start. */
    synchronized long registrations() {
        RunningRail now = running;
        return registrationsBefore + (now == null ? 0 : now.rail().registrations());
    }

    /** Returns whether {@link #recover} has something to do soon. */
    boolean isLost() {
        return running == null && !givenUp;
    }

    /** Closes a rail whose device is lost, and opens it again when its time has come and the device is there. */
    void recover() {
        RunningRail now = running;
        String why = now == null ? null : now.whyLost();
        if (now != null && why != null) {
            closeLost(now, why);
        }
        if (isLost() && parts.nanoClock().getAsLong() - nextAttempt >= 0) {
            reopen();
        }
    }

    private void closeLost(RunningRail lost, String why) {
        LOG.warn(
                "{}: {}; other ports, TCP or Spark's block transfer serve until the device is back"
                        + " (spark.shuffle.rdma.fabric.verbs.devices)",
                port,
                why);
        long now = parts.nanoClock().getAsLong();
        if (now - runningSince >= STEADY_NANOS) {
            pauseNanos = FIRST_PAUSE_NANOS;
        }
        endOrGiveUp(lost);
        DeviceList.releaseRemoved(parts.library());
        pause();
    }

    private void reopen() {
        RunningRail opened = null;
        boolean complete = false;
        try {
            DeviceList.releaseRemoved(parts.library());
            opened = RunningRail.reopen(parts, index, port, address.getPort());
            regions.include(opened.rail());
            opened.listen();
            runningSince = parts.nanoClock().getAsLong();
            running = opened;
            opened.start();
            complete = true;
            warned = false;
            LOG.info("{} is back", opened.rail().port());
        } catch (NativeException e) {
            tellOfFailure(e);
        } finally {
            if (!complete) {
                if (opened != null) {
                    endOrGiveUp(opened);
                }
                pause();
            }
        }
    }

    private void tellOfFailure(NativeException e) {
        if (Errno.ENODEV.is(e.errno()) || Errno.EADDRNOTAVAIL.is(e.errno()) || warned) {
            LOG.debug("{} is not back", port, e);
        } else {
            warned = true;
            LOG.warn("{} is back, but cannot be used; retrying without further warnings", port, e);
        }
    }

    /** Doubles the pause before the next attempt. */
    private void pause() {
        nextAttempt = parts.nanoClock().getAsLong() + pauseNanos;
        pauseNanos = Math.min(2 * pauseNanos, LAST_PAUSE_NANOS);
    }

    private void endOrGiveUp(RunningRail rail) {
        givenUp = !end(rail);
        if (givenUp) {
            LOG.warn("{}: not reopened in this process, because one of its threads does not end", port);
        }
    }

    private boolean end(RunningRail rail) {
        regions.forget(rail.rail());
        boolean ended = rail.close();
        synchronized (this) {
            running = null;
            workBefore = workBefore.plus(rail.work());
            registrationsBefore += rail.rail().registrations();
        }
        return ended;
    }

    /** Closes the rail; returns false if a thread of it still runs. */
    boolean close() {
        RunningRail last = running;
        return last == null ? !givenUp : end(last);
    }
}
