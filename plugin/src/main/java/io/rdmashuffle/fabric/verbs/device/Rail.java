// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceLimits;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.Transport;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One port that the fabric uses: its device, its listener, and the pool's regions registered with it.
 *
 * <p><b>Threading:</b> regions are added and taken back by one thread at a time and looked up by all; the rest is
 * immutable.
 *
 * <p><b>Ownership:</b> owns its resources on the device, and closes them in reverse order.
 */
public final class Rail implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Rail.class);
    private static final int BACKLOG = 1024;
    private static final Random RANDOM = new Random();

    /** A READ writes to local memory, with iWARP as a peer would. */
    private static final Set<Access> SINK = Set.of(Access.REMOTE_WRITE);

    private final int index;
    private final LocalPort port;
    private final CmId listener;
    private final Context context;
    private final ProtectionDomain domain;
    private final DeviceLimits limits;
    private final ControlMemory controlMemory;
    private final SourceGid sourceGid;
    private final boolean iwarp;
    private final int firstVector;
    private final int vectors;
    private final Set<Access> rights = EnumSet.of(Access.LOCAL_WRITE, Access.REMOTE_READ);
    /** Regions by id, without released ones. */
    private final Map<Integer, MemoryRegion> registered = new ConcurrentHashMap<>();

    /** Pools of ended processes by their fabric ids. */
    private final Map<Long, InheritedRegions> inherited = new ConcurrentHashMap<>();

    private final AtomicInteger registrations = new AtomicInteger();
    private volatile RegionTable table = RegionTable.EMPTY;
    /** The same regions by the keys for local pieces of a request. */
    private volatile RegionTable localTable = RegionTable.EMPTY;

    private Rail(int index, LocalPort port, CmId listener, Context context, RailSettings settings) {
        this.index = index;
        this.port = port;
        this.sourceGid = new SourceGid(port);
        this.listener = listener;
        this.context = context;
        this.limits = context.limits();
        this.iwarp = context.transport() == Transport.IWARP;
        this.domain = context.allocateProtectionDomain();
        this.controlMemory = new ControlMemory(domain);
        this.vectors = Math.max(1, context.completionVectors());
        this.firstVector = settings.completionVector().orElseGet(() -> RANDOM.nextInt(vectors));
        if (settings.onDemandPaging() && limits.onDemandPaging()) {
            rights.add(Access.ON_DEMAND);
        } else if (settings.onDemandPaging()) {
            LOG.warn(
                    "{} does not support on-demand paging, so the pool is pinned"
                            + " (spark.shuffle.rdma.fabric.verbs.onDemandPaging)",
                    port);
        }
        if (iwarp) {
            rights.addAll(SINK);
        }
        if (settings.relaxedOrdering()) {
            rights.add(Access.RELAXED_ORDERING);
        }
    }

    /**
     * Binds to the port's address and opens its device; accepts connection requests after {@link #listen}.
     *
     * @param listenPort port; 0 for any free port
     * @param trafficClass traffic class of sent packets; 0 for the default
     */
    public static Rail open(
            int index, LocalPort port, int listenPort, EventChannel channel, int trafficClass, RailSettings settings) {
        CmId listener = channel.createId();
        boolean opened = false;
        try {
            if (trafficClass > 0) {
                listener.typeOfService(trafficClass);
            }
            listener.bind(new InetSocketAddress(port.address(), listenPort));
            Context context = Objects.requireNonNull(listener.context(), "an id bound to an RDMA port has a device");
            Rail rail = new Rail(index, port, listener, context, settings);
            opened = true;
            return rail;
        } finally {
            if (!opened) {
                listener.close();
            }
        }
    }

    /** Listens for connection requests. */
    public void listen() {
        listener.listen(BACKLOG);
    }

    /** Returns the index of this rail, counted from 0. */
    public int index() {
        return index;
    }

    public LocalPort port() {
        return port;
    }

    public Context context() {
        return context;
    }

    /** Queries the device whether traffic can pass its port now; a device that does not answer has no such port. */
    public boolean isActive() {
        try {
            return context.port(port.port()).active();
        } catch (NativeException e) {
            LOG.debug("{}: cannot tell whether it is active", port, e);
            return false;
        }
    }

    public ProtectionDomain domain() {
        return domain;
    }

    public DeviceLimits limits() {
        return limits;
    }

    public ControlMemory controlMemory() {
        return controlMemory;
    }

    /**
     * Returns the rights of the peer of a queue pair for reads of this process: on iWARP write, without which some
     * devices take no READ's data. It can write where it knows an rkey, that is, into the pool's regions.
     */
    public Set<Access> rightsOfReadPeers() {
        return iwarp ? SINK : Set.of();
    }

    /** Returns the number that peers know a queue pair by: 0 on iWARP, where it does not travel. */
    public int numberForPeers(QueuePair pair) {
        return iwarp ? 0 : pair.number();
    }

    /** Examines a queue pair that has become ready to receive; the control thread. */
    public void connected(QueuePair pair) {
        if (!iwarp) {
            sourceGid.of(pair, context);
        }
    }

    /** Returns whether registering a region pins its pages. */
    public boolean pins() {
        return !rights.contains(Access.ON_DEMAND);
    }

    /**
     * Creates a completion queue whose events come by the interrupt after the one of the turn before.
     *
     * @param entries least room for completions
     * @param turn which of the rail's queues it is, from 0 on
     */
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel, int turn) {
        return context.createCompletionQueue(entries, channel, (firstVector + turn) % vectors);
    }

    /** Returns the address at which this rail listens. */
    public InetSocketAddress address() {
        return Objects.requireNonNull(listener.localAddress(), "a bound id has an address");
    }

    /** Returns this process's regions as peers read them over this rail. */
    public RegionTable table() {
        return table;
    }

    /** Returns the key of one of this process's regions in local pieces of a request. */
    public int localKey(int regionId) {
        return localTable.key(regionId);
    }

    /** Returns the id below which this rail has every region that exists. */
    public int bound() {
        return table.bound();
    }

    /** Returns the number of registrations. */
    public int registrations() {
        return registrations.get();
    }

    /**
     * Registers a region of the pool.
     *
     * @throws io.rdmashuffle.ffi.NativeException if the device or the limit of locked memory refuses
     */
    public void register(Region region) {
        int id = region.id();
        if (id < bound()) {
            throw new IllegalStateException("region " + id + " after " + bound() + " others");
        }
        MemoryRegion added = register(region.memory());
        registered.put(id, added);
        registrations.incrementAndGet();
        localTable = localTable.with(id, added.address(), added.lengthBytes(), added.localKey());
        table = table.with(id, added.address(), added.lengthBytes(), added.remoteKey());
    }

    /** Records that regions below an id were released before this rail was opened, as far as it does not have them. */
    public void registerAbsentTo(int bound) {
        table = table.withAbsentTo(bound);
    }

    private MemoryRegion register(MemorySlice memory) {
        try {
            return domain.registerMemory(memory.address(), memory.lengthBytes(), rights);
        } catch (NativeException e) {
            // rdma-core before 28 hands the flag to a kernel that may not know it.
            boolean unknownRight = Errno.EINVAL.is(e.errno()) || Errno.EOPNOTSUPP.is(e.errno());
            if (!unknownRight || !rights.remove(Access.RELAXED_ORDERING)) {
                throw e;
            }
            LOG.debug("{}: without relaxed ordering", port, e);
            return register(memory);
        }
    }

    /** Reclaims the region registered last, which another rail could not register. */
    public void unregisterLast() {
        int last = bound() - 1;
        table = table.withoutLast();
        localTable = localTable.withoutLast();
        registrations.decrementAndGet();
        close(last);
    }

    /**
     * Deregisters a region without leases. A peer that still reads it loses its connection, queries again on another
     * one, and learns that the region is absent.
     *
     * @throws io.rdmashuffle.ffi.NativeException if the device does not release it
     */
    public void unregister(Region region) {
        // First the table: what a peer learns from now on does not lead there.
        table = table.without(region.id());
        localTable = localTable.without(region.id());
        close(region.id());
    }

    private void close(int regionId) {
        MemoryRegion closed = registered.get(regionId);
        if (closed != null) {
            closed.close();
            registered.remove(regionId);
        }
    }

    /**
     * Registers the pool of an ended process, for peers to read; one thread at a time.
     *
     * @param fabricId of that process
     * @param pool to which the caller holds a reference
     * @throws io.rdmashuffle.ffi.NativeException if the device or the limit of locked memory refuses
     */
    public void inherit(long fabricId, EndedPool pool) {
        Set<Access> asTarget = EnumSet.copyOf(rights);
        asTarget.remove(Access.LOCAL_WRITE);
        asTarget.removeAll(SINK);
        inherited.put(fabricId, InheritedRegions.register(pool, region -> {
            MemorySlice memory = region.memory();
            registrations.incrementAndGet();
            return domain.registerMemory(memory.address(), memory.lengthBytes(), asTarget);
        }));
    }

    /** Returns the fabric ids of the ended processes whose pools are registered. */
    public Set<Long> inheritedFrom() {
        return Set.copyOf(inherited.keySet());
    }

    /** Returns whether this pool of an ended process is registered. */
    public boolean serves(long fabricId, EndedPool pool) {
        InheritedRegions found = inherited.get(fabricId);
        return found != null && found.pool() == pool;
    }

    /** Returns the pool of an ended process; null if it is not registered. */
    public @Nullable InheritedRegions inherited(long fabricId) {
        return inherited.get(fabricId);
    }

    /** Deregisters the pool of an ended process; peers that read it lose their connections. */
    public void renounce(long fabricId) {
        InheritedRegions ended = inherited.remove(fabricId);
        if (ended != null) {
            ended.close();
        }
    }

    /** Returns a registered region by id; for tests that deregister it. */
    public MemoryRegion registered(int regionId) {
        return Objects.requireNonNull(registered.get(regionId), "absent");
    }

    /** Closes the device's objects with their children, then the listener, and releases inherited pools. */
    @Override
    public void close() {
        try (listener) {
            try (context) {
                controlMemory.close();
            }
        } finally {
            inheritedFrom().forEach(this::renounce);
        }
    }
}
