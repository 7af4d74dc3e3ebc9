// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responds, on one rail, to peers' queries about this process's regions.
 *
 * <p>Queries of all peers come through one shared receive queue, so receive memory does not grow with their number. A
 * peer has one response under way at a time; a query that comes meanwhile is served after that.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> its creator closes it; owns the queues, not the queue pairs.
 */
final class RegionQueryResponder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegionQueryResponder.class);
    private static final int RECEIVES = 64;
    private static final int COMPLETIONS = 1 << 12;
    private static final int POLLED = 32;
    private static final long RESPONSE = 1L << 32;

    private final Rail rail;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final SharedReceiveQueue shared;
    private final WorkCompletions completions = new WorkCompletions(POLLED);
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final SendRequests response = new SendRequests(1, 1);
    private final List<ControlMemory.Slot> querySlots = new ArrayList<>();
    private final Map<Integer, Querier> queriers = new HashMap<>();
    private final Set<Integer> responding = new HashSet<>();
    private final Map<Integer, Integer> deferred = new HashMap<>();

    RegionQueryResponder(Rail rail) {
        this.rail = rail;
        this.channel = rail.context().createCompletionChannel();
        this.queue = rail.context()
                .createCompletionQueue(Math.min(COMPLETIONS, rail.limits().maxCompletions()), channel);
        this.shared = rail.domain().createSharedReceiveQueue(RECEIVES);
        for (int i = 0; i < RECEIVES; i++) {
            querySlots.add(rail.controlMemory().take());
            postReceive(i);
        }
    }

    Rail rail() {
        return rail;
    }

    int fileDescriptor() {
        return channel.fileDescriptor();
    }

    QueuePair createQueuePair() {
        return rail.domain().createQueuePair(new QueueSizes(4, 0, 1, 0), queue, queue, shared);
    }

    /** A peer that may query: the queue pair that it reads through, and where responses to it are written. */
    record Querier(QueuePair pair, ControlMemory.Slot slot) {}

    /** Serves the queries that come through a queue pair from now on. */
    Querier add(QueuePair pair) {
        Querier added = new Querier(pair, rail.controlMemory().take());
        queriers.put(pair.number(), added);
        return added;
    }

    /** Serves a queue pair no longer; {@link #releaseSlot} follows when the pair is closed. */
    void remove(Querier querier) {
        int number = querier.pair().number();
        queriers.remove(number);
        responding.remove(number);
        deferred.remove(number);
    }

    /** Takes a slot back, after the queue pair was closed. */
    void releaseSlot(Querier querier) {
        rail.controlMemory().release(querier.slot());
    }

    /** Responds to the queries that have come. */
    void serve() {
        while (queue.poll(completions) > 0) {
            for (int i = 0; i < completions.count(); i++) {
                handle(i);
            }
        }
    }

    /** Has the channel tell of the next query; returns false if one has come meanwhile. */
    boolean arm() {
        while (channel.nextEvent() != null) {
            // The event says no more than that it is time to poll.
        }
        queue.arm();
        if (queue.poll(completions) == 0) {
            return true;
        }
        for (int i = 0; i < completions.count(); i++) {
            handle(i);
        }
        return false;
    }

    private void handle(int completion) {
        long id = completions.workRequestId(completion);
        int pairNumber = completions.queuePairNumber(completion);
        if ((id & RESPONSE) != 0) {
            responded(pairNumber, completion);
            return;
        }
        int query = (int) id;
        if (completions.succeeded(completion)) {
            respond(pairNumber, querySlots.get(query).address(), completions.lengthBytes(completion));
        }
        postReceive(query);
    }

    private void responded(int pairNumber, int completion) {
        responding.remove(pairNumber);
        Integer next = deferred.remove(pairNumber);
        Querier querier = queriers.get(pairNumber);
        if (!completions.succeeded(completion)) {
            LOG.debug(
                    "A region query response on queue pair {} was lost: {}",
                    pairNumber,
                    completions.status(completion));
        } else if (next != null && querier != null && responding.add(pairNumber)) {
            send(querier, next);
        }
    }

    private void respond(int pairNumber, long query, int lengthBytes) {
        Querier querier = queriers.get(pairNumber);
        int first = RegionTable.readQuery(query, lengthBytes);
        if (querier == null || first < 0) {
            LOG.debug("No response to a message on queue pair {}", pairNumber);
        } else if (responding.add(pairNumber)) {
            send(querier, first);
        } else {
            // The device has not yet said that the last response left, although the peer has it.
            deferred.put(pairNumber, first);
        }
    }

    private void send(Querier querier, int first) {
        int length = rail.table().writeResponse(querier.slot().address(), first);
        response.clear();
        response.send(RESPONSE, querier.slot().address(), length, querier.slot().localKey(), true);
        querier.pair().post(response);
    }

    private void postReceive(int query) {
        ControlMemory.Slot slot = querySlots.get(query);
        receive.clear();
        receive.add(query, slot.address(), ControlMemory.SLOT_BYTES, slot.localKey());
        shared.post(receive);
    }

    @Override
    public void close() {
        shared.close();
        queue.close();
        channel.close();
        completions.close();
        receive.close();
        response.close();
    }
}
