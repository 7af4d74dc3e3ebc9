// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fabric of one-sided reads over TCP.
 *
 * <p>The process listens from the first {@link #localAddress} on; its reading threads start with the first {@link
 * #connect}.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its threads and sockets; closing ends them. A peer's connections end with the fabric.
 */
public final class TcpFabric implements Fabric {
    /** The name under which addresses are announced. */
    public static final String NAME = "tcp";

    private static final Logger LOG = LoggerFactory.getLogger(TcpFabric.class);

    private final TcpSettings settings;
    private final long fabricId = new SecureRandom().nextLong();
    private final ServedPool own = new ServedPool();
    /** Pools that are served, by fabric id of the process that made them. */
    private final Map<Long, ServedPool> pools = new ConcurrentHashMap<>(Map.of(fabricId, own));

    private final Admissions admissions = new Admissions();
    private final InFlightReads reads;
    private final AtomicLong registrations = new AtomicLong();
    private final List<ServeLoop> serveLoops = new ArrayList<>();
    private final List<ReadLoop> readLoops = new ArrayList<>();
    private @Nullable TcpListener listener;
    private @Nullable TcpAddress localAddress;
    private boolean closed;

    /** Creates the fabric; no thread and no socket yet. */
    public TcpFabric(TcpSettings settings) {
        this.settings = settings;
        this.reads = new InFlightReads(settings.maxBytesInFlight());
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void regionAdded(Region region) {
        own.add(region);
        registrations.incrementAndGet();
    }

    /**
     * {@inheritDoc} The threads keep it mapped until they have dropped their buffers over it; a response that is being
     * sent from it ends with its connection.
     */
    @Override
    public synchronized void regionRemoved(Region region) {
        own.remove(region);
        // A loop that has ended has dropped all of its buffers.
        serveLoops.forEach(loop -> loop.selector().execute(() -> loop.forget(region)));
        readLoops.forEach(loop -> loop.selector().execute(() -> loop.forget(region)));
    }

    @Override
    public void serve(TieredPool pool) {
        DiskTier disk = pool.disk();
        if (disk != null) {
            own.serve(disk::leased);
        }
    }

    /** {@inheritDoc} The first call opens the port; where that fails, peers read over Spark's block transfer. */
    @Override
    public synchronized byte[] localAddress() {
        TcpAddress known = localAddress;
        if (known == null) {
            TcpSettings.Host host = settings.host().get();
            String announced = host.announced();
            known = new TcpAddress(fabricId, announced, closed ? 0 : listen(host.bound()), LinkSpeed.ofHost(announced));
            localAddress = known;
        }
        return known.encode();
    }

    private int listen(String host) {
        try {
            for (int i = 0; i < settings.threads(); i++) {
                serveLoops.add(new ServeLoop("rdma-tcp-serve-" + i));
            }
            TcpListener opened = new TcpListener(pools, host, settings, serveLoops, admissions);
            listener = opened;
            LOG.info("Serving peers over TCP on port {} (spark.shuffle.rdma.fabric.tcp.port)", opened.port());
            return opened.port();
        } catch (IOException e) {
            LOG.warn(
                    "Cannot listen for TCP connections of peers; they read over Spark's block transfer"
                            + " (spark.shuffle.rdma.fabric.tcp.port)",
                    e);
            return 0;
        }
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        TcpAddress remote = TcpAddress.decode(address);
        if (remote.port() == 0) {
            throw new PeerUnreachableException("executor " + peerId + " could not open a TCP port; see its log");
        }
        try {
            List<InetAddress> hosts = List.of(InetAddress.getAllByName(remote.host()));
            return new TcpPeer(peerId, fabricId, remote, hosts, readLoops(), reads);
        } catch (UnknownHostException e) {
            throw new PeerUnreachableException("cannot resolve " + remote.host() + " of executor " + peerId, e);
        } catch (IOException e) {
            throw new PeerUnreachableException("cannot start a thread that reads over TCP: " + e.getMessage(), e);
        }
    }

    private synchronized List<ReadLoop> readLoops() throws IOException, PeerUnreachableException {
        if (closed) {
            throw new PeerUnreachableException("the TCP fabric is closed");
        }
        while (readLoops.size() < settings.threads()) {
            readLoops.add(new ReadLoop("rdma-tcp-read-" + readLoops.size(), settings, reads));
        }
        return List.copyOf(readLoops);
    }

    @Override
    public void revoke(byte[] address) {
        Long process = fabricIdOf(address);
        if (process == null) {
            return;
        }
        admissions.revoke(process);
        List<ServeLoop> serving;
        synchronized (this) {
            serving = List.copyOf(serveLoops);
        }
        serving.forEach(loop -> loop.revoke(process));
    }

    @Override
    public void admit(byte[] address) {
        Long process = fabricIdOf(address);
        if (process != null) {
            admissions.admit(process);
        }
    }

    /** {@inheritDoc} Under its own fabric id, at this process's port. */
    @Override
    public byte @Nullable [] inherit(byte[] address, EndedPool pool) throws PeerUnreachableException {
        TcpAddress here = TcpAddress.decode(localAddress());
        long ended = TcpAddress.decode(address).fabricId();
        if (here.port() == 0 || ended == fabricId) {
            return null;
        }
        ServedPool served = new ServedPool();
        pool.regions().forEach(served::add);
        served.serve(pool::onDisk);
        pools.put(ended, served);
        return new TcpAddress(ended, here.host(), here.port(), here.linkMegabits()).encode();
    }

    @Override
    public void renounce(byte[] address, EndedPool pool) {
        Long ended = fabricIdOf(address);
        ServedPool served = ended == null || ended == fabricId ? null : pools.remove(ended);
        if (served != null) {
            List<ServeLoop> serving;
            synchronized (this) {
                serving = List.copyOf(serveLoops);
            }
            serving.forEach(loop -> loop.renounce(served, pool));
        }
    }

    /** Returns the speed of a process's network interface in Mb/s; 0 if it does not know it, or this is no address. */
    public static int linkMegabits(byte[] address) {
        try {
            return TcpAddress.decode(address).linkMegabits();
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no process", e);
            return 0;
        }
    }

    /** Returns whether this is the address of a process that could open a port. */
    public static boolean isListening(byte[] address) {
        try {
            return TcpAddress.decode(address).port() != 0;
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no process", e);
            return false;
        }
    }

    private static @Nullable Long fabricIdOf(byte[] address) {
        try {
            return TcpAddress.decode(address).fabricId();
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no process", e);
            return null;
        }
    }

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public long registrations() {
        return registrations.get();
    }

    @Override
    public synchronized FabricWork work() {
        return readLoops.stream().map(loop -> loop.tally().work()).reduce(FabricWork.NONE, FabricWork::plus);
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
        TcpListener listening;
        List<ServeLoop> serving;
        List<ReadLoop> reading;
        synchronized (this) {
            closed = true;
            listening = listener;
            serving = List.copyOf(serveLoops);
            reading = List.copyOf(readLoops);
        }
        if (listening != null) {
            listening.close();
        }
        reading.forEach(ReadLoop::close);
        serving.forEach(ServeLoop::close);
    }
}
