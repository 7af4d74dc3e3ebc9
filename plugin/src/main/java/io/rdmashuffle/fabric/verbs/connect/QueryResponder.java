// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.InheritedRegions;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responder of one rail to peers' queries for regions, and to requests to stage blocks of the disk tier.
 *
 * <p>Messages of all peers use one shared receive queue if the device supports it. A peer has one response in flight at
 * a time; later queries wait.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> its creator closes it; owns the queues, not the queue pairs.
 */
final class QueryResponder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(QueryResponder.class);
    /** All receives may complete at once, and one response to each peer. */
    private static final int COMPLETIONS = SharedReceives.MAX_RECEIVES + ConnectSettings.MAX_SERVED;

    private static final int POLLED = 32;
    private static final int NONE = -1;
    private static final long RESPONSE = 1L << 32;
    private static final long EXPIRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    static {
        if (StagingMessages.MAX_QUESTION_BYTES > Receives.MESSAGE_BYTES) {
            throw new AssertionError("a question does not fit into a receive");
        }
    }

    private final Rail rail;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final Receives receives;
    private final WorkCompletions completions;
    private final SendRequests response;
    private final Map<Integer, Querier> queriers = new HashMap<>();
    private final StagingService staging;
    private final Executor control;
    private final LongSupplier nanoClock;
    private long nextExpiry;
    /** Queue pairs added and not released. */
    private int pairs;

    /**
     * A peer that may ask: its queue pair, the memory in which responses are written, and responses that wait to be
     * sent, one at a time.
     */
    static final class Querier {
        private final QueuePair pair;
        private final ControlMemory.Slot slot;
        private final @Nullable InheritedRegions inherited;
        private final Deque<Answer> answers = new ArrayDeque<>();
        /** First region that the latest region query asks for; NONE without an unanswered query. */
        private int firstRegion = NONE;

        private boolean responding;
        /** Ranges that the peer asked to be staged; null if it asked for none. */
        private @Nullable StagedRequests staged;

        private Querier(QueuePair pair, ControlMemory.Slot slot, @Nullable InheritedRegions inherited) {
            this.pair = pair;
            this.slot = slot;
            this.inherited = inherited;
        }

        QueuePair pair() {
            return pair;
        }
    }

    /**
     * Prepares to respond.
     *
     * @param control runs something on the control thread
     */
    QueryResponder(Rail rail, StagingService staging, Executor control, LongSupplier nanoClock) {
        this.rail = rail;
        this.staging = staging;
        this.control = control;
        this.nanoClock = nanoClock;
        this.nextExpiry = nanoClock.getAsLong();
        this.channel = rail.context().createCompletionChannel();
        int entries = Math.min(COMPLETIONS, rail.limits().maxCompletions());
        this.queue = rail.createCompletionQueue(entries, channel, 0);
        this.receives = receives(rail, entries);
        // Not before what may fail: these do not close with the device.
        this.completions = new WorkCompletions(POLLED);
        this.response = new SendRequests(1, 1);
    }

    private static Receives receives(Rail rail, int completionEntries) {
        boolean shared = rail.limits().maxSharedQueues() > 0 && rail.limits().maxSharedReceives() > 0;
        return shared ? new SharedReceives(rail, completionEntries) : new OwnReceives(rail, completionEntries);
    }

    Rail rail() {
        return rail;
    }

    int fileDescriptor() {
        return channel.fileDescriptor();
    }

    QueuePair createQueuePair() {
        QueueSizes sizes = new QueueSizes(4, receives.ofEachPair(), 1, 0);
        return rail.domain().createQueuePair(sizes, queue, queue, receives.queue());
    }

    /** Returns whether a queue pair that ends may have taken receives that others need. */
    boolean sharesReceives() {
        return receives.queue() != null;
    }

    /** Returns whether another queue pair can be served. */
    boolean hasRoom() {
        return pairs < receives.maxPairs();
    }

    /**
     * Serves messages of a queue pair from now on.
     *
     * @param inherited the pool that they are about; null for this process's own
     */
    Querier add(QueuePair pair, @Nullable InheritedRegions inherited) {
        Querier added = new Querier(pair, rail.controlMemory().take(), inherited);
        boolean receiving = false;
        try {
            receives.add(pair);
            receiving = true;
        } finally {
            if (!receiving) {
                rail.controlMemory().release(added.slot);
            }
        }
        pairs++;
        queriers.put(pair.number(), added);
        return added;
    }

    /** Serves a queue pair no longer; {@link #release} follows when the pair is closed. */
    void remove(Querier querier) {
        queriers.remove(querier.pair.number());
    }

    /** Reclaims what a queue pair's peer had, after the queue pair was closed: nothing reads through it any more. */
    void release(Querier querier) {
        if (querier.staged != null) {
            querier.staged.end();
        }
        receives.remove(querier.pair.number());
        pairs--;
        rail.controlMemory().release(querier.slot);
    }

    /** Reclaims what peers were to read and have not released in time. */
    void expire() {
        long now = nanoClock.getAsLong();
        if (now - nextExpiry < 0) {
            return;
        }
        nextExpiry = now + EXPIRY_NANOS;
        for (Querier each : queriers.values()) {
            if (each.staged != null) {
                each.staged.expire();
            }
        }
    }

    /** Responds to received messages. */
    void serve() {
        receives.postAgain();
        while (queue.poll(completions) > 0) {
            handleAll();
        }
    }

    /** Handles each completion of a poll, also if one before it cannot be handled: the device does not tell again. */
    private void handleAll() {
        for (int i = 0; i < completions.count(); i++) {
            try {
                handle(i);
            } catch (RuntimeException e) {
                LOG.warn("Cannot handle a message on queue pair {}", completions.queuePairNumber(i), e);
            }
        }
    }

    /** Requests an event for the next message; returns false if one has come meanwhile. */
    boolean arm() {
        while (channel.nextEvent() != null) {
            // The event says no more than that it is time to poll.
        }
        queue.arm();
        if (queue.poll(completions) == 0) {
            return true;
        }
        handleAll();
        return false;
    }

    private void handle(int completion) {
        long id = completions.workRequestId(completion);
        int pairNumber = completions.queuePairNumber(completion);
        if ((id & RESPONSE) != 0) {
            responded(pairNumber, completion);
            return;
        }
        int message = (int) id;
        if (!completions.succeeded(completion)) {
            receives.flushed(pairNumber, message);
            return;
        }
        try {
            take(pairNumber, receives.address(pairNumber, message), completions.lengthBytes(completion));
        } finally {
            receives.post(pairNumber, message);
        }
    }

    private void responded(int pairNumber, int completion) {
        Querier querier = queriers.get(pairNumber);
        if (querier == null) {
            return;
        }
        querier.responding = false;
        if (completions.succeeded(completion)) {
            respond(querier);
        } else {
            LOG.debug("A response on queue pair {} was lost: {}", pairNumber, completions.status(completion));
        }
    }

    private void take(int pairNumber, long message, int lengthBytes) {
        Querier querier = queriers.get(pairNumber);
        int first = RegionTable.readQuery(message, lengthBytes);
        int released = StagingMessages.readRelease(message, lengthBytes);
        Question question = StagingMessages.readQuestion(message, lengthBytes);
        if (querier == null || (first < 0 && released < 0 && question == null)) {
            LOG.debug("No response to a message on queue pair {}", pairNumber);
            return;
        }
        if (first >= 0) {
            querier.firstRegion = first;
            respond(querier);
        } else if (question != null) {
            staged(querier).ask(question);
        } else {
            staged(querier).release(released);
        }
    }

    private StagedRequests staged(Querier querier) {
        StagedRequests known = querier.staged;
        if (known == null) {
            EndedPool ended = querier.inherited == null ? null : querier.inherited.pool();
            known = new StagedRequests(
                    staging, ended, control, nanoClock, rail::table, answer -> send(querier, answer));
            querier.staged = known;
        }
        return known;
    }

    /** There are never more answers than the peer has questions, whose number is bounded. */
    private void send(Querier querier, Answer answer) {
        if (querier.answers.size() < 2 * StagedRequests.MAX_REQUESTS) {
            querier.answers.add(answer);
        }
        respond(querier);
    }

    /** Sends the next response, unless the device has not yet said that the last one left. */
    private void respond(Querier querier) {
        if (querier.responding) {
            return;
        }
        querier.responding = true;
        int length = writeNext(querier);
        if (length == 0) {
            querier.responding = false;
            return;
        }
        response.clear();
        response.send(RESPONSE, querier.slot.address(), length, querier.slot.localKey(), true);
        if (!posted(querier)) {
            querier.responding = false;
        }
    }

    /** Posts the response; the peer, which waits for one that is not posted no longer than it may, asks again. */
    private boolean posted(Querier querier) {
        try {
            return querier.pair.post(response) > 0;
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("Cannot respond on queue pair {}", querier.pair.number(), e);
            return false;
        }
    }

    /** Writes the next response to its slot; returns its length, 0 if there is none. */
    private int writeNext(Querier querier) {
        long slot = querier.slot.address();
        int first = querier.firstRegion;
        querier.firstRegion = NONE;
        if (first >= 0) {
            RegionTable table = querier.inherited == null ? rail.table() : querier.inherited.table();
            return table.writeResponse(slot, first);
        }
        Answer answer = querier.answers.poll();
        if (answer == null) {
            return 0;
        }
        StagingMessages.writeAnswer(slot, answer);
        return StagingMessages.ANSWER_BYTES;
    }

    @Override
    public void close() {
        receives.close();
        queue.close();
        channel.close();
        completions.close();
        response.close();
    }
}
