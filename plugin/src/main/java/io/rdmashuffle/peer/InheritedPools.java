// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.directory.DirectoryFormatException;
import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MembershipListener;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pools of ended executors of this host that this one serves to other hosts, since the driver has made it their heir.
 * Executors of this host read them in place without an heir.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns the opened pools, until the member leaves, another is its heir, or this is closed. The
 * fabrics are the caller's.
 */
public final class InheritedPools implements MembershipListener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InheritedPools.class);

    private final String self;
    private final List<Fabric> fabrics;
    private final BlockingReads reads;
    private final IndexCache indexes = IndexCache.ofHeap(() -> 1);
    private final Map<String, Inheritance> pools = new ConcurrentHashMap<>();
    /** Guarded by itself. */
    private final LogLimit<String> warnings = new LogLimit<>(System::nanoTime);

    private boolean closed;

    /**
     * Pool of one ended executor.
     *
     * @param served the member with the addresses at which the pool can be read now
     */
    private record Inheritance(Member ended, Member served, EndedPool pool, Peer peer, RemoteDirectory directory) {}

    /**
     * Bytes in a pool, to which the caller holds a reference.
     *
     * @param pool to be released
     */
    public record Inherited(StoredRange range, EndedPool pool) {}

    /**
     * Begins without pools.
     *
     * @param self this executor's id
     * @param fabrics open the pools, and serve them
     * @param reads of directories
     */
    public InheritedPools(String self, List<Fabric> fabrics, BlockingReads reads) {
        this.self = self;
        this.fabrics = List.copyOf(fabrics);
        this.reads = reads;
    }

    /**
     * Begins to serve the pool of an ended member; does nothing if it does so already.
     *
     * @return the member with the addresses at which its pool can be read now
     * @throws PeerUnreachableException if this executor cannot read that pool
     */
    public synchronized Member inherit(Member ended) throws PeerUnreachableException {
        if (closed) {
            throw new PeerUnreachableException("this executor ends");
        }
        Inheritance known = pools.get(ended.executorId());
        if (known == null || !known.ended().incarnation().equals(ended.incarnation())) {
            drop(ended.executorId());
            known = open(ended);
            pools.put(ended.executorId(), known);
            LOG.info("Serving the map outputs of executor {}, which has ended, to other hosts", ended.executorId());
        }
        return known.served();
    }

    private Inheritance open(Member ended) throws PeerUnreachableException {
        byte[] location = ended.address(PeerPaths.DIRECTORY_ADDRESS);
        for (Fabric fabric : fabrics) {
            byte[] address = ended.address(fabric.name());
            if (address != null && location != null) {
                EndedPool pool = fabric.open(ended.executorId(), address);
                if (pool != null) {
                    return open(ended, fabric, address, location, pool);
                }
            }
        }
        throw new PeerUnreachableException("no fabric opens the pool of executor " + ended.executorId());
    }

    private Inheritance open(Member ended, Fabric opener, byte[] address, byte[] location, EndedPool pool)
            throws PeerUnreachableException {
        boolean complete = false;
        try {
            DirectoryLocation directory = DirectoryLocation.decode(location);
            Peer peer = opener.connect(ended.executorId(), address);
            Member served = serve(ended, opener, address, location, pool);
            complete = true;
            return new Inheritance(ended, served, pool, peer, new RemoteDirectory(peer, directory, reads, indexes));
        } catch (DirectoryFormatException e) {
            throw new PeerUnreachableException(String.valueOf(e.getMessage()), e);
        } finally {
            if (!complete) {
                renounce(ended, pool);
                pool.close();
            }
        }
    }

    /** The addresses that are left are those of the files, and of the fabrics that serve them here. */
    private Member serve(Member ended, Fabric opener, byte[] address, byte[] location, EndedPool pool)
            throws PeerUnreachableException {
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put(opener.name(), address);
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, location);
        addresses.put(Member.HEIR, self.getBytes(StandardCharsets.UTF_8));
        byte[] files = ended.address(Member.OUTLIVES);
        if (files != null) {
            addresses.put(Member.OUTLIVES, files);
        }
        for (Fabric fabric : fabrics) {
            byte[] before = ended.address(fabric.name());
            byte[] now = before == null ? null : fabric.inherit(before, pool);
            if (now != null) {
                addresses.put(fabric.name(), now);
            }
        }
        return new Member(ended.executorId(), ended.incarnation(), addresses);
    }

    private void renounce(Member ended, EndedPool pool) {
        for (Fabric fabric : fabrics) {
            byte[] address = ended.address(fabric.name());
            if (address != null) {
                fabric.renounce(address, pool);
            }
        }
    }

    /** Returns the number of pools. */
    public int count() {
        return pools.size();
    }

    /** Finds partitions {@code [start, end)} of a map output; empty if it is in no pool that can be read. */
    public Optional<Inherited> find(int shuffleId, long mapId, int start, int end) {
        return pools.values().stream()
                .flatMap(each -> find(each, shuffleId, mapId, start, end).stream())
                .findFirst();
    }

    private Optional<Inherited> find(Inheritance in, int shuffleId, long mapId, int start, int end) {
        if (!in.pool().retain()) {
            return Optional.empty();
        }
        StoredRange range = null;
        try {
            DirectoryEntry entry = in.directory().find(shuffleId, mapId);
            if (entry != null && entry.place() != Place.FILE) {
                range = MapOutputIndex.range(entry, in.pool()::bytes, start, end);
            }
        } catch (IOException e) {
            warn(in.ended().executorId(), mapId, e);
        } finally {
            if (range == null) {
                in.pool().release();
            }
        }
        return Optional.ofNullable(range).map(found -> new Inherited(found, in.pool()));
    }

    /** Each block that is asked for fails the same way. */
    private void warn(String executorId, long mapId, IOException cause) {
        int others;
        synchronized (warnings) {
            others = warnings.take(executorId);
        }
        if (others != LogLimit.SILENT) {
            LOG.warn(
                    "Cannot read the directory or an index of executor {}, which has ended; its map output {} is"
                            + " written again if it is there ({} similar failures before)",
                    executorId,
                    mapId,
                    others,
                    cause);
        }
    }

    /** Drops the cached entries of a removed shuffle. */
    public void forgetShuffle(int shuffleId) {
        pools.values().forEach(each -> each.directory().forget(shuffleId));
    }

    /** {@inheritDoc} Ends the service of one that was dropped, or that another serves now. */
    @Override
    public void changed(@Nullable Member before, @Nullable Member after) {
        boolean isLost =
                after == null || after.heir().filter(heir -> !heir.equals(self)).isPresent();
        if (before != null && isLost) {
            drop(before.executorId());
        }
    }

    private synchronized void drop(String executorId) {
        Inheritance dropped = pools.remove(executorId);
        if (dropped == null) {
            return;
        }
        renounce(dropped.ended(), dropped.pool());
        dropped.directory().forget();
        dropped.peer().close();
        dropped.pool().close();
    }

    @Override
    public synchronized void close() {
        closed = true;
        List.copyOf(pools.keySet()).forEach(this::drop);
    }
}
