// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.PortFinder;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wait for ports that were requested by name: a container may be started before the device or the address that it was
 * promised, and what an executor announces at its start is all that its peers learn of it.
 *
 * <p><b>Threading:</b> of one thread, which it holds up.
 */
final class PortWait {
    private static final Logger LOG = LoggerFactory.getLogger(PortWait.class);
    private static final long PAUSE_MILLIS = 500;

    private final Search search;
    private final LongSupplier nanoClock;
    private final Pause pause;

    /** One look at the machine; throws if a port that is asked for is missing. */
    @FunctionalInterface
    interface Search {
        List<LocalPort> choose(List<PortSelector> selectors) throws RdmaUnavailableException;
    }

    /** Sleep, replaced by tests. */
    @FunctionalInterface
    interface Pause {
        void millis(long millis) throws InterruptedException;
    }

    /** Waits for ports of this machine. */
    PortWait(VerbsLibrary library) {
        this(ofThisMachine(library), System::nanoTime, millis -> {
            TimeUnit.MILLISECONDS.sleep(millis);
            // librdmacm holds a device that was found and then removed, which would block its removal.
            DeviceList.releaseRemoved(library);
        });
    }

    PortWait(Search search, LongSupplier nanoClock, Pause pause) {
        this.search = search;
        this.nanoClock = nanoClock;
        this.pause = pause;
    }

    /** Looks each time as if for the first time. */
    static Search ofThisMachine(VerbsLibrary library) {
        return selectors -> {
            try (EventChannel events = EventChannel.open(library)) {
                return new PortFinder(library, events).choose(selectors);
            }
        };
    }

    /** Without any device librdmacm opens no channel, which is no news of a machine without a card. */
    private static String why(NativeException failure) {
        boolean noDevice =
                Errno.ENODEV.is(failure.errno()) && DeviceList.ofKernel().isEmpty();
        return (noDevice ? "this machine has no RDMA device; with a card: " : "") + failure.getMessage();
    }

    /**
     * Finds the ports to use, again and again until they are there.
     *
     * @param selectors which to use; empty for the best one, which is not waited for: most machines have none
     * @param timeout for how long
     * @throws RdmaUnavailableException with the reason of the last attempt; earlier if the thread is interrupted, with
     *     the flag set
     */
    List<LocalPort> choose(List<PortSelector> selectors, Duration timeout) throws RdmaUnavailableException {
        long started = nanoClock.getAsLong();
        boolean told = false;
        while (true) {
            RdmaUnavailableException missing;
            try {
                return search.choose(selectors);
            } catch (RdmaUnavailableException e) {
                missing = e;
            } catch (NativeException e) {
                missing = new RdmaUnavailableException(why(e), e);
            }
            if (selectors.isEmpty() || nanoClock.getAsLong() - started >= timeout.toNanos()) {
                throw missing;
            }
            if (!told) {
                told = true;
                LOG.info(
                        "Waiting up to {} s for RDMA ports: {} (spark.shuffle.rdma.fabric.verbs.deviceTimeout)",
                        timeout.toSeconds(),
                        missing.getMessage());
            }
            try {
                pause.millis(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw missing;
            }
        }
    }
}
