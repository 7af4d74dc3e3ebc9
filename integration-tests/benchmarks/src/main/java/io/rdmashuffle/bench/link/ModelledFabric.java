// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import org.jspecify.annotations.Nullable;

/**
 * A fabric that shows nothing in place and reads over a {@link ModelledLink}. It goes by the name of the verbs fabric,
 * whose place it takes, so that bytes are counted as those of READs.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns the link, and the shared memory by which it sees peers.
 */
final class ModelledFabric implements Fabric {
    private static final String NAME = "verbs";

    private final ShmFabric memory;
    private final ModelledLink link;

    ModelledFabric(LinkModel model, long maxBytesInFlight, @Nullable DiskTier disk) {
        this.memory = new ShmFabric(1, maxBytesInFlight, true, disk);
        this.link = new ModelledLink(model, new InFlightReads(maxBytesInFlight), System::nanoTime);
        link.start();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void regionAdded(Region region) {
        memory.regionAdded(region);
    }

    @Override
    public void serve(TieredPool pool) {
        memory.serve(pool);
    }

    @Override
    public byte[] localAddress() {
        return memory.localAddress();
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        return new ModelledPeer(memory.connect(peerId, address), link);
    }

    @Override
    public void revoke(byte[] address) {
        memory.revoke(address);
    }

    @Override
    public void admit(byte[] address) {
        memory.admit(address);
    }

    @Override
    public boolean copies() {
        return true;
    }

    @Override
    public long registrations() {
        return memory.registrations();
    }

    @Override
    public FabricWork work() {
        return link.work();
    }

    @Override
    public void close() {
        link.close();
        memory.close();
    }

    /** A peer whose memory is seen, and read as if it were not. */
    private record ModelledPeer(Peer seen, ModelledLink link) implements Peer {
        @Override
        public boolean read(ReadRequest request) {
            return link.post(seen, request);
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
            return seen.readsDisk();
        }

        @Override
        public void releaseRegions() {
            seen.releaseRegions();
        }

        @Override
        public void releaseAbsentRegions() {
            seen.releaseAbsentRegions();
        }

        @Override
        public int openRegions() {
            return seen.openRegions();
        }

        @Override
        public void close() {
            seen.close();
        }
    }
}
