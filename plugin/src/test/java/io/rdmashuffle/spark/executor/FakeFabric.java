// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.TieredPool;
import java.util.ArrayList;
import java.util.List;

/** A fabric without peers, which may refuse regions. */
final class FakeFabric implements Fabric {
    private final int pinnings;
    private final List<Integer> regions = new ArrayList<>();
    private int refusedFrom = Integer.MAX_VALUE;
    private boolean closed;

    /** Number of times that each page is pinned. */
    FakeFabric(int pinnings) {
        this.pinnings = pinnings;
    }

    /** Has the device refuse regions from this one on. */
    FakeFabric refusing(int regionId) {
        refusedFrom = regionId;
        return this;
    }

    boolean closed() {
        return closed;
    }

    /** Returns the ids of regions that are registered. */
    List<Integer> regions() {
        return regions;
    }

    @Override
    public void regionAdded(Region region) {
        if (region.id() >= refusedFrom) {
            throw new NativeException("ibv_reg_mr(length=1)", Errno.ENOMEM.number(), "");
        }
        regions.add(region.id());
    }

    @Override
    public void regionRemoved(Region region) {
        regions.remove((Integer) region.id());
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public void serve(TieredPool pool) {}

    @Override
    public byte[] localAddress() {
        return new byte[0];
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        throw new PeerUnreachableException("a fake has no peers");
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
        return regions.size();
    }

    @Override
    public int pinnings() {
        return pinnings;
    }

    @Override
    public FabricWork work() {
        return FabricWork.NONE;
    }

    @Override
    public void close() {
        closed = true;
    }
}
