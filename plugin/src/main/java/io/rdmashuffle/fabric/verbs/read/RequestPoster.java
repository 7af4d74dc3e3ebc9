// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.WorkTally;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import org.jspecify.annotations.Nullable;

/**
 * Poster of READs and control messages of a data thread's channels: request chains with one doorbell, and a count of
 * the required completion queue entries.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link DataThread}.
 */
final class RequestPoster implements AutoCloseable {
    private static final int CHAIN_REQUESTS = 32;

    /** Number of requests or bytes after which one is signaled, so that memory is released before the chain ends. */
    private static final int SIGNAL_EVERY_REQUESTS = 8;

    private static final int SIGNAL_EVERY_BYTES = 256 << 10;

    private final SendRequests chain = new SendRequests(CHAIN_REQUESTS, 1);
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final int completionEntries;
    private final WorkTally tally;
    /** Requests and receives whose completions the queue must have room for. */
    private int outstanding;

    private int unsignaledBytes;

    /**
     * Posts nothing yet.
     *
     * @param completionEntries entries of the completion queue of all connections: READs leave half of them to control
     *     messages and their answers
     * @param tally counts posted requests
     */
    RequestPoster(int completionEntries, WorkTally tally) {
        this.completionEntries = completionEntries;
        this.tally = tally;
    }

    /** Empties the chain. */
    void begin() {
        chain.clear();
        unsignaledBytes = 0;
    }

    /** Returns whether nothing was added to the chain. */
    boolean isEmpty() {
        return chain.size() == 0;
    }

    /** Returns whether another READ fits: into the chain, the queue pair and the completion queue. */
    boolean hasRoom(Connection on) {
        return !chain.isFull() && on.hasRoom() && outstanding < completionEntries / 2;
    }

    /** Returns whether a control message fits, and a receive for its answer. */
    boolean hasControlRoom(Connection on) {
        return on.hasControlRoom() && outstanding + 2 <= completionEntries;
    }

    /** Adds a READ of a read's next piece, which lies in a region that it knows. */
    void addPiece(Connection on, PendingRead read, Rail rail) {
        RegionTable table = read.regions();
        int sourceRegion = read.source().regionId();
        long remote = table.address(sourceRegion) + read.sourceOffset();
        add(on, read, rail, read.pieceBytes(on.maxReadBytes()), remote, table.key(sourceRegion));
    }

    /** Adds a READ of a read's next bytes, which the peer has staged; now and then one that asks for a completion. */
    void add(Connection on, PendingRead read, Rail rail, int bytes, long remote, int remoteKey) {
        Lease into = read.request().target();
        long local = into.region().memory().address() + into.offset() + read.targetOffset();
        int localKey = rail.localKey(into.region().id());
        chain.read(number(on, read), local, bytes, localKey, remote, remoteKey, false);
        read.advancePast(bytes);
        unsignaledBytes += bytes;
        if (unsignaledBytes >= SIGNAL_EVERY_BYTES || chain.size() % SIGNAL_EVERY_REQUESTS == 0) {
            chain.signaled();
            unsignaledBytes = 0;
        }
    }

    /**
     * Posts the READs of the chain, the last of which asks for a completion.
     *
     * @throws NativeException or {@link IllegalStateException} if the queue pair does not take all of them; they count
     *     as outstanding nevertheless
     */
    void postReads(Connection on) {
        chain.signaled();
        tally.posted(chain.size());
        postChain(on);
    }

    /**
     * Posts the region query in a connection's slot, and a receive for the response.
     *
     * @throws NativeException or {@link IllegalStateException} if the queue pair does not take both
     */
    void postQuery(Connection on) {
        postReceive(on);
        postMessage(on, on.queryAddress(), RegionTable.QUERY_BYTES, true);
    }

    /**
     * Posts the staging question in a connection's slot, which must not change until it has completed, and a receive
     * for the answer. Throws as {@link #postQuery} does.
     */
    void postQuestion(Connection on, int lengthBytes) {
        postReceive(on);
        postMessage(on, on.questionAddress(), lengthBytes, false);
    }

    /** Posts the release in a connection's slot; throws as {@link #postQuery} does. */
    void postRelease(Connection on) {
        postMessage(on, on.releaseAddress(), StagingMessages.RELEASE_BYTES, true);
    }

    private void postReceive(Connection on) {
        int buffer = on.takeReceive();
        // Also if the queue pair refuses it: the end of the connection releases it.
        outstanding++;
        receive.clear();
        receive.add(on.receiveId(buffer), on.receiveAddress(buffer), Connection.RECEIVE_BYTES, on.slotKey());
        if (on.pair().post(receive) != 1) {
            throw new IllegalStateException(on.pair() + " took no receive");
        }
    }

    private void postMessage(Connection on, long address, int lengthBytes, boolean inline) {
        begin();
        chain.send(number(on, null), address, lengthBytes, on.slotKey(), true);
        if (inline) {
            chain.inline();
        }
        tally.posted(0);
        postChain(on);
    }

    private long number(Connection on, @Nullable PendingRead read) {
        long id = on.add(read);
        outstanding++;
        return id;
    }

    private void postChain(Connection on) {
        int taken = on.pair().post(chain);
        if (taken < chain.size()) {
            throw new IllegalStateException(on.pair() + " took " + taken + " of " + chain.size()
                    + " requests although its queue should have room");
        }
    }

    /** Counts the oldest request of a connection as completed; returns its read, null if it was a control message. */
    @Nullable
    PendingRead retireOldest(Connection on) {
        outstanding--;
        return on.retire();
    }

    /** Releases a receive buffer, whose message has been read. */
    void releaseReceive(Connection on, int buffer) {
        on.releaseReceive(buffer);
        outstanding--;
    }

    /** Counts nothing more of a connection whose queue pair is gone, all of its requests retired. */
    void forgetReceives(Connection on) {
        outstanding -= on.receiving();
    }

    @Override
    public void close() {
        chain.close();
        receive.close();
    }
}
