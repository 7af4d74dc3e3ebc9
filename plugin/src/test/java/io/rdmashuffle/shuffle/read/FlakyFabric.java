// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.TieredPool;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Fabric that works until it is set to fail, or to hold its reads. */
final class FlakyFabric implements Fabric {
    private final Fabric real;
    private final List<ReadRequest> kept = new ArrayList<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger failures = new AtomicInteger();
    volatile boolean failing;
    volatile Reason reason = Reason.TRANSPORT_ERROR;
    volatile boolean keeping;

    FlakyFabric(Fabric real) {
        this.real = real;
    }

    int connections() {
        return connections.get();
    }

    /** Returns the number of immediate failures. */
    int failures() {
        return failures.get();
    }

    private ReadFailedException flaky() {
        failures.incrementAndGet();
        return new ReadFailedException(reason, "flaky");
    }

    /** Fails the reads that were kept, as a fabric does in the end. */
    synchronized void failKept() {
        kept.forEach(this::fail);
        kept.clear();
    }

    private void fail(ReadRequest request) {
        request.target().close();
        request.listener().failed(request, new ReadFailedException(reason, "flaky"));
    }

    private synchronized void keep(ReadRequest request) {
        kept.add(request);
    }

    @Override
    public String name() {
        return real.name();
    }

    @Override
    public void serve(TieredPool pool) {
        real.serve(pool);
    }

    @Override
    public byte[] localAddress() {
        return real.localAddress();
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        connections.incrementAndGet();
        Peer peer = real.connect(peerId, address);
        return new Peer() {
            @Override
            public boolean read(ReadRequest request) {
                if (keeping) {
                    keep(request);
                } else if (failing) {
                    failures.incrementAndGet();
                    fail(request);
                } else {
                    return peer.read(request);
                }
                return true;
            }

            @Override
            public @Nullable RemoteView view(RemoteSlice slice) throws ReadFailedException {
                if (failing) {
                    throw flaky();
                }
                return peer.view(slice);
            }

            @Override
            public @Nullable RemoteView region(int regionId) throws ReadFailedException {
                if (failing) {
                    throw flaky();
                }
                return peer.region(regionId);
            }

            @Override
            public boolean readsDisk() {
                return peer.readsDisk();
            }

            @Override
            public void releaseRegions() {
                peer.releaseRegions();
            }

            @Override
            public void releaseAbsentRegions() {
                peer.releaseAbsentRegions();
            }

            @Override
            public int openRegions() {
                return peer.openRegions();
            }

            @Override
            public void close() {
                peer.close();
            }
        };
    }

    @Override
    public void revoke(byte[] address) {
        real.revoke(address);
    }

    @Override
    public void admit(byte[] address) {
        real.admit(address);
    }

    @Override
    public boolean copies() {
        return real.copies();
    }

    @Override
    public long registrations() {
        return real.registrations();
    }

    @Override
    public void regionAdded(Region region) {
        real.regionAdded(region);
    }

    @Override
    public void regionRemoved(Region region) {
        real.regionRemoved(region);
    }

    @Override
    public FabricWork work() {
        return FabricWork.NONE;
    }

    @Override
    public void close() {
        real.close();
    }
}
