package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import org.jspecify.annotations.Nullable;

/**
 * What the channels of a data thread post with: one chain of requests, and a count of what the completion queue must have room
 * for.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link DataThread}.
 */
final class RequestPoster implements AutoCloseable {
    private static final int CHAIN_REQUESTS = 32;

    private final SendRequests chain = new SendRequests(CHAIN_REQUESTS, 1);
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final int maxPosted;
    private int posted;

    /**
     * Posts nothing yet.
     *
     * @param maxPosted most requests outstanding on all connections together
     */
    RequestPoster(int maxPosted) {
        this.maxPosted = maxPosted;
    }

    /** Returns whether the completion queue has room for the completion of another request. */
    boolean hasRoom() {
        return posted < maxPosted;
    }

    /** Returns the chain to post with, emptied. */
    SendRequests emptyChain() {
        chain.clear();
        return chain;
    }

    /** Counts a request that is added to the chain; returns its id. {@code read} is null for a control message. */
    long number(Connection on, @Nullable PendingRead read) {
        long id = on.add(read);
        posted++;
        return id;
    }

    /** Counts the oldest request of a connection as completed; returns its read, null if it was a control message. */
    @Nullable
    PendingRead retireOldest(Connection on) {
        posted--;
        return on.retire();
    }

    /**
     * Posts the chain.
     *
     * @throws IllegalStateException if the queue pair does not take all of it
     */
    void postChain(Connection on) {
        int taken = on.pair().post(chain);
        if (taken < chain.size()) {
            throw new IllegalStateException(on.pair() + " took " + taken + " of " + chain.size()
                    + " requests although its queue should have room");
        }
    }

    /** Posts the receive for the one response that a connection waits for. */
    void postResponseReceive(Connection on) {
        receive.clear();
        receive.add(
                on.receiveId(),
                on.slot().address() + PeerRegions.RESPONSE_OFFSET,
                RegionTable.MAX_RESPONSE_BYTES,
                on.slot().localKey());
        if (on.pair().post(receive) != 1) {
            throw new IllegalStateException(on.pair() + " took no receive");
        }
    }

    @Override
    public void close() {
        chain.close();
        receive.close();
    }
}
