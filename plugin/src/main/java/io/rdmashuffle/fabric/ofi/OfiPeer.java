// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Process that is read through libfabric, over each rail in turn that has reached it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class OfiPeer implements Peer, InFlightReads.Starter {
    /** A way to the peer. */
    record Path(OfiRail rail, RailPeer peer) {
        boolean works() {
            return !rail.hasEnded() && peer.isReachable();
        }
    }

    private final String peerId;
    private final InFlightReads reads;
    private final List<Path> paths;
    private final AtomicInteger turn = new AtomicInteger();
    private volatile boolean closed;

    OfiPeer(String peerId, InFlightReads reads, List<Path> paths) {
        this.peerId = peerId;
        this.reads = reads;
        this.paths = List.copyOf(paths);
    }

    @Override
    public boolean read(ReadRequest request) {
        return reads.admit(request, this);
    }

    @Override
    public void start(ReadRequest request) {
        if (closed) {
            reads.fail(request, Reason.CLOSED, "the path to executor " + peerId + " is closed");
        } else if (request.isExpired()) {
            reads.fail(request, Reason.TIMED_OUT, "deadline passed before the read");
        } else {
            Path path = next();
            path.rail().submit(new OfiRead(request, path.peer()));
        }
    }

    /** The next path that works; if none does, one whose rail works: its reads fail, or show that it works again. */
    private Path next() {
        int first = Math.floorMod(turn.getAndIncrement(), paths.size());
        Path chosen = paths.get(first);
        for (int i = 1; i < paths.size() && !chosen.works(); i++) {
            Path other = paths.get((first + i) % paths.size());
            if (other.works() || chosen.rail().hasEnded()) {
                chosen = other;
            }
        }
        return chosen;
    }

    @Override
    public boolean readsDisk() {
        return false;
    }

    @Override
    public boolean isReachable() {
        return paths.stream().anyMatch(Path::works);
    }

    @Override
    public void releaseRegions() {
        paths.forEach(path -> path.rail().execute(path.peer()::forgetAll));
    }

    /** {@inheritDoc} A key costs nothing here: one that is not valid any more is found when it is used. */
    @Override
    public void releaseAbsentRegions() {}

    @Override
    public int openRegions() {
        return paths.stream().mapToInt(path -> path.peer().openRegions()).sum();
    }

    @Override
    public void close() {
        closed = true;
        paths.forEach(path -> {
            path.peer().close();
            path.rail().execute(() -> path.rail().drop(path.peer()));
        });
    }
}
