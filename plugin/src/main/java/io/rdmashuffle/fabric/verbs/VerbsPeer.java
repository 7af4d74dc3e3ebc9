package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A process that is read from: one link for each data thread of this process.
 *
 * <p>Requests go round the links; one that fails on a link starts again on the next, which on several rails is another port.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its links, which data threads close.
 */
final class VerbsPeer implements Peer {
    private final String peerId;
    private final long fabricId;
    private final PendingReads reads;
    private final List<Link> links = new ArrayList<>();
    private final AtomicInteger nextLink = new AtomicInteger();
    private volatile boolean closed;

    VerbsPeer(String peerId, VerbsAddress address, List<ReadWorker> workers, PendingReads reads) {
        this.peerId = peerId;
        this.fabricId = address.fabricId();
        this.reads = reads;
        for (int lane = 0; lane < workers.size(); lane++) {
            ReadWorker worker = workers.get(lane);
            int rail = worker.rail().index() % address.rails().size();
            links.add(new Link(this, worker, address.rails().get(rail), lane));
        }
    }

    String peerId() {
        return peerId;
    }

    long fabricId() {
        return fabricId;
    }

    /** Returns the links in the order of the data threads. */
    List<Link> links() {
        return links;
    }

    /** Returns the link that a data thread serves. */
    Link linkOf(ReadWorker worker) {
        for (int i = 0; i < links.size(); i++) {
            if (links.get(i).worker() == worker) {
                return links.get(i);
            }
        }
        throw new IllegalArgumentException("a data thread of another fabric");
    }

    /** Starts a read again after a link failed. */
    void submitAfter(Link failed, PendingRead read) {
        living(failed.lane() + 1).worker().submit(read);
    }

    /** Returns a link whose data thread runs, from this lane on; any if none does. */
    private Link living(int lane) {
        for (int i = 0; i < links.size(); i++) {
            Link link = links.get(Math.floorMod(lane + i, links.size()));
            if (link.worker().isAlive()) {
                return link;
            }
        }
        return links.get(0);
    }

    @Override
    public boolean read(ReadBatch batch) {
        if (!reads.tryAdmit(batch)) {
            return false;
        }
        List<ReadRequest> requests = batch.requests();
        for (int i = 0; i < requests.size(); i++) {
            PendingRead read = reads.lend(batch, requests.get(i), this);
            if (closed) {
                reads.fail(read, new ReadFailedException(Reason.CLOSED, "executor " + peerId + " was given up"));
            } else if (batch.isExpired()) {
                reads.fail(read, new ReadFailedException(Reason.TIMED_OUT, "deadline passed before the read"));
            } else {
                living(nextLink.getAndIncrement()).worker().submit(read);
            }
        }
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
    public void releaseRegions() {
        links.forEach(link -> link.regions().forget());
    }

    @Override
    public int openRegions() {
        return closed
                ? 0
                : links.stream().mapToInt(link -> link.regions().known()).max().orElse(0);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        ReadFailedException failure = new ReadFailedException(Reason.CLOSED, "executor " + peerId + " was given up");
        for (Link link : links) {
            link.worker().execute(() -> link.close(failure));
        }
    }
}
