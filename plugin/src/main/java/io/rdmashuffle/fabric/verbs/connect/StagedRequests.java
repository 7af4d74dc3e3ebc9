// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.connect.StagingService.Outcome;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Lease;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Staging requests of one peer through one queue pair, from the request to the release.
 *
 * <pre>
 *  asked --> staging --> answered --> released: by the peer, after its last READ
 *               |            |------> expired: twice the time in which the peer must have read
 *               +------------+------> ended: the queue pair is closed, so that nothing reads through it any more
 * </pre>
 *
 * <p><b>Threading:</b> the control thread, to which outcomes are handed.
 *
 * <p><b>Ownership:</b> owns the leases of its requests.
 */
final class StagedRequests {
    /** A reader has one question under way and reads what three others brought. */
    static final int MAX_REQUESTS = 4;

    /** Bytes stay staged for twice the reader's deadline: clocks may run at different speeds. */
    private static final int DEADLINE_FACTOR = 2;

    private static final Logger LOG = LoggerFactory.getLogger(StagedRequests.class);

    private final StagingService service;
    private final @Nullable EndedPool inherited;
    private final Executor control;
    private final LongSupplier nanoClock;
    private final Supplier<RegionTable> table;
    private final Consumer<Answer> answers;
    private final Map<Integer, Staged> requests = new HashMap<>();
    private boolean ended;

    /** One request; without a lease while the bytes are being read. */
    private static final class Staged {
        private @Nullable Lease lease;
        private long deadline;
    }

    /**
     * Starts without a request.
     *
     * @param inherited the process whose disk tier they are about; null for this one
     * @param control runs something on the control thread
     * @param table where this process's regions are, for the peer
     * @param answers sends an answer to the peer
     */
    StagedRequests(
            StagingService service,
            @Nullable EndedPool inherited,
            Executor control,
            LongSupplier nanoClock,
            Supplier<RegionTable> table,
            Consumer<Answer> answers) {
        this.service = service;
        this.inherited = inherited;
        this.control = control;
        this.nanoClock = nanoClock;
        this.table = table;
        this.answers = answers;
    }

    /** Handles a question, which is answered now or later. */
    void ask(Question question) {
        int id = question.id();
        if (question.ranges().isEmpty() || requests.containsKey(id)) {
            answers.accept(Answer.refusal(id, Status.UNKNOWN));
            return;
        }
        if (requests.size() >= MAX_REQUESTS) {
            answers.accept(Answer.refusal(id, Status.NO_ROOM));
            return;
        }
        Staged request = new Staged();
        requests.put(id, request);
        boolean started = service.stage(
                inherited, question.ranges(), outcome -> control.execute(() -> finished(id, request, outcome)));
        if (!started) {
            requests.remove(id);
            answers.accept(Answer.refusal(id, Status.NO_ROOM));
        }
    }

    private void finished(int id, Staged request, Outcome outcome) {
        Lease lease = outcome.lease();
        boolean wanted = !ended && requests.get(id) == request;
        if (!wanted) {
            if (lease != null) {
                service.giveBack(lease);
            }
        } else if (lease == null) {
            requests.remove(id);
            answers.accept(Answer.refusal(id, outcome.status()));
        } else {
            long within = service.readWithin().toMillis();
            request.lease = lease;
            request.deadline = nanoClock.getAsLong()
                    + DEADLINE_FACTOR * service.readWithin().toNanos();
            RegionTable regions = table.get();
            int region = lease.region().id();
            answers.accept(new Answer(
                    id, Status.OK, outcome.bytes(), regions.address(region) + lease.offset(), regions.key(region), (int)
                            Math.min(within, Integer.MAX_VALUE)));
        }
    }

    /** Processes a peer's release of staged bytes. */
    void release(int id) {
        Staged released = requests.remove(id);
        if (released != null) {
            giveBack(released);
        }
    }

    /** Releases bytes that a peer has not released in time. */
    void expire() {
        if (requests.isEmpty()) {
            return;
        }
        long now = nanoClock.getAsLong();
        for (Iterator<Staged> each = requests.values().iterator(); each.hasNext(); ) {
            Staged request = each.next();
            if (request.lease != null && now - request.deadline >= 0) {
                LOG.debug("A peer has not released staged bytes");
                each.remove();
                giveBack(request);
            }
        }
    }

    /** Releases everything, including bytes that are still being read; the queue pair must be closed. */
    void end() {
        ended = true;
        List<Staged> left = List.copyOf(requests.values());
        requests.clear();
        left.forEach(this::giveBack);
    }

    private void giveBack(Staged request) {
        Lease lease = request.lease;
        if (lease != null) {
            request.lease = null;
            service.giveBack(lease);
        }
    }
}
