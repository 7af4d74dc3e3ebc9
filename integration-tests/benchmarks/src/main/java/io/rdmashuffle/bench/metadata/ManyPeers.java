// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.TieredPool;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Fabric to any number of peers that all have the same pool, which is copied from at once and counted: what a reader
 * keeps and does for each peer is its own, what the peers hold exists once.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class ManyPeers implements Fabric {
    static final String NAME = "many";

    private final List<Region> regions;
    private final LongAdder reads = new LongAdder();
    private final LongAdder slices = new LongAdder();
    private final LongAdder bytes = new LongAdder();

    /** Reads so far. */
    record Reads(long requests, long slices, long bytes) {
        Reads since(Reads before) {
            return new Reads(requests - before.requests, slices - before.slices, bytes - before.bytes);
        }
    }

    ManyPeers(Pool pool) {
        this.regions = pool.regions();
    }

    Reads reads() {
        return new Reads(reads.sum(), slices.sum(), bytes.sum());
    }

    @Override
    public Peer connect(String peerId, byte[] address) {
        return new CopiedPeer();
    }

    private final class CopiedPeer implements Peer {
        @Override
        public boolean read(ReadRequest request) {
            if (!request.complete()) {
                throw new IllegalStateException("a request that has ended");
            }
            long target = request.target().memory().address();
            for (RemoteSlice source : request.sources()) {
                if (source.regionId() >= regions.size()) {
                    request.listener()
                            .failed(request, new ReadFailedException(Reason.OUT_OF_BOUNDS, source.toString()));
                    return true;
                }
                regions.get(source.regionId())
                        .memory()
                        .slice(source.offset(), source.lengthBytes())
                        .copyToAddress(target);
                target += source.lengthBytes();
            }
            reads.increment();
            slices.add(request.sources().size());
            bytes.add(request.lengthBytes());
            request.listener().succeeded(request);
            return true;
        }

        @Override
        public @Nullable RemoteView view(RemoteSlice slice) {
            return null;
        }

        @Override
        public @Nullable RemoteView region(int regionId) {
            return null;
        }

        @Override
        public boolean readsDisk() {
            return false;
        }

        @Override
        public void releaseRegions() {}

        @Override
        public void releaseAbsentRegions() {}

        @Override
        public int openRegions() {
            return 0;
        }

        @Override
        public void close() {}
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void serve(TieredPool pool) {}

    @Override
    public byte[] localAddress() {
        return new byte[] {0};
    }

    @Override
    public void revoke(byte[] address) {}

    @Override
    public void admit(byte[] address) {}

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public long registrations() {
        return 0;
    }

    @Override
    public FabricWork work() {
        return FabricWork.NONE;
    }

    @Override
    public void regionAdded(Region region) {}

    @Override
    public void regionRemoved(Region region) {}

    @Override
    public void close() {}
}
