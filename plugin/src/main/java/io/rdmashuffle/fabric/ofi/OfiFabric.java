// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.ofi.OfiDevice;
import io.rdmashuffle.ofi.OfiLibrary;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fabric of one-sided reads through libfabric, for networks that librdmacm cannot connect: AWS EFA and Slingshot.
 *
 * <p>There is no authentication: whoever reaches the network and knows a key reads the region. A process that has left
 * the membership is kept from reading by new keys for all regions, of which it is not told.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its rails, each with a thread.
 */
public final class OfiFabric implements Fabric {
    /** The name under which addresses are announced. */
    public static final String NAME = "ofi";

    private static final Logger LOG = LoggerFactory.getLogger(OfiFabric.class);
    private static final long KEEP_ALIVE_SECONDS = 10;

    private final String provider;
    private final long fabricId = new SecureRandom().nextLong();
    private final Admissions admissions = new Admissions();
    private final InFlightReads reads;
    private final List<OfiRail> rails;
    private final AtomicLong registrations = new AtomicLong();
    /** One change of keys at a time, and one that waits: it serves all revocations before it. */
    private final ThreadPoolExecutor revoker = new ThreadPoolExecutor(
            1,
            1,
            KEEP_ALIVE_SECONDS,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(1),
            new DaemonThreads("ofi-revoke"),
            new ThreadPoolExecutor.DiscardPolicy());

    private volatile boolean closed;

    private OfiFabric(OfiSettings settings, List<OfiDevice> devices) throws RdmaUnavailableException {
        this.provider = devices.get(0).network();
        this.reads = new InFlightReads(settings.maxBytesInFlight());
        revoker.allowCoreThreadTimeOut(true);
        List<OfiRail> opened = new ArrayList<>();
        try {
            for (OfiDevice device : devices) {
                opened.add(new OfiRail(device, fabricId, settings.connectTimeout(), admissions, reads, opened.size()));
            }
        } catch (Throwable failure) {
            // Their threads close everything.
            opened.forEach(OfiRail::start);
            CloseOnFailure.close(failure, opened.toArray(AutoCloseable[]::new));
            throw failure;
        }
        this.rails = List.copyOf(opened);
        rails.forEach(OfiRail::start);
    }

    /**
     * Opens the fabric.
     *
     * @throws RdmaUnavailableException without the library, or a device of the provider
     */
    public static OfiFabric open(OfiSettings settings) throws RdmaUnavailableException {
        OfiLibrary library = OfiLibrary.load(settings.provider());
        List<OfiDevice> devices = library.devices();
        try {
            List<OfiDevice> chosen = OfiDevice.choose(devices, settings.devices(), settings.host());
            if (chosen.isEmpty()) {
                throw new RdmaUnavailableException(
                        "libfabric " + library.version() + " has no device of the provider " + settings.provider()
                                + (devices.isEmpty() ? "" : " that is chosen among " + devices)
                                + "; see fi_info -p, and spark.shuffle.rdma.fabric.ofi.devices");
            }
            OfiFabric opened = new OfiFabric(settings, chosen);
            LOG.info("Using libfabric {} with {}", library.version(), chosen);
            return opened;
        } catch (NativeException e) {
            throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
        } finally {
            devices.forEach(OfiDevice::close);
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void regionAdded(Region region) {
        List<OfiRail> registered = new ArrayList<>();
        try {
            for (OfiRail rail : rails) {
                rail.regions().add(region);
                registered.add(rail);
            }
            registrations.incrementAndGet();
        } catch (Throwable failure) {
            registered.forEach(rail -> rail.regions().remove(region));
            throw failure;
        }
    }

    @Override
    public void regionRemoved(Region region) {
        rails.forEach(rail -> rail.regions().remove(region));
    }

    /** {@inheritDoc} Does nothing: Spark's block transfer brings the blocks. */
    @Override
    public void serve(TieredPool pool) {}

    @Override
    public byte[] localAddress() {
        return new OfiAddress(
                        fabricId, provider, rails.stream().map(OfiRail::name).toList())
                .encode();
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        OfiAddress remote = OfiAddress.decode(address);
        if (!remote.provider().equals(provider)) {
            throw new PeerUnreachableException("executor " + peerId + " uses the libfabric provider "
                    + remote.provider() + ", this one " + provider + " (spark.shuffle.rdma.fabric.ofi.provider)");
        }
        List<OfiPeer.Path> paths = new ArrayList<>();
        for (int i = 0; i < rails.size(); i++) {
            OfiRail rail = rails.get(i);
            if (rail.hasEnded()) {
                continue;
            }
            List<OfiAddress.Endpoint> fitting = remote.endpoints().stream()
                    .filter(each -> each.format() == rail.name().format())
                    .toList();
            if (!fitting.isEmpty()) {
                OfiAddress.Endpoint endpoint = fitting.get(i % fitting.size());
                paths.add(new OfiPeer.Path(rail, new RailPeer(peerId, remote.fabricId(), endpoint)));
            }
        }
        if (paths.isEmpty()) {
            throw new PeerUnreachableException("executor " + peerId + " has no endpoint that this one can reach");
        }
        return new OfiPeer(peerId, reads, paths);
    }

    @Override
    public void revoke(byte[] address) {
        try {
            OfiAddress left = OfiAddress.decode(address);
            admissions.revoke(left.fabricId());
            if (!closed) {
                rails.forEach(rail -> rail.execute(() -> left.endpoints().forEach(rail::forget)));
                revoker.execute(() -> rails.forEach(rail -> rail.regions().changeKeys()));
            }
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no process", e);
        }
    }

    @Override
    public void admit(byte[] address) {
        try {
            admissions.admit(OfiAddress.decode(address).fabricId());
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no process", e);
        }
    }

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public int pinnings() {
        return rails.stream().mapToInt(OfiRail::pinnings).sum();
    }

    @Override
    public long registrations() {
        return registrations.get();
    }

    @Override
    public FabricWork work() {
        return rails.stream().map(rail -> rail.tally().work()).reduce(FabricWork.NONE, FabricWork::plus);
    }

    @Override
    public FabricLoad load() {
        return reads.load();
    }

    @Override
    public Latencies readLatencies() {
        return reads.meter().latencies();
    }

    @Override
    public void close() {
        closed = true;
        revoker.shutdown();
        rails.forEach(OfiRail::close);
    }
}
