// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.verbs.AsyncEvent;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queue pairs in error, through which nothing is read any more, until they can be destroyed.
 *
 * <p>A queue pair may have taken receives from the shared queue that have not completed. They come back as flushed, the
 * last of them before the device tells that the last one was reached; those of a queue pair that is destroyed earlier
 * are lost to all peers. Devices that tell of nothing, as soft-RoCE, get {@link #LAST_RECEIVE_NANOS}.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns queue pair, id and slot of each entry, and releases them.
 *
 * <p><b>Source:</b> ibv_get_async_event(3), IBV_EVENT_QP_LAST_WQE_REACHED.
 */
final class EndingPairs implements AutoCloseable {
    /** A device that tells does so within milliseconds. */
    static final long LAST_RECEIVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Logger LOG = LoggerFactory.getLogger(EndingPairs.class);

    private final ConnectionIds ids;
    private final QueryResponder responder;
    private final LongSupplier nanoClock;
    /** Oldest first. */
    private final Deque<Ending> ending = new ArrayDeque<>();

    EndingPairs(ConnectionIds ids, QueryResponder responder, LongSupplier nanoClock) {
        this.ids = ids;
        this.responder = responder;
        this.nanoClock = nanoClock;
    }

    private record Ending(ServedPair served, long deadlineNanos) {}

    int count() {
        return ending.size();
    }

    /**
     * Moves a queue pair to the error state, and destroys it when its receives have come back; at once if it cannot be
     * put into error, since its peer must not go on reading.
     */
    void add(ServedPair served) {
        boolean waits = responder.sharesReceives();
        try {
            served.pair().fail();
        } catch (RuntimeException e) {
            LOG.debug("{} does not go into error", served.pair(), e);
            waits = false;
        }
        if (waits) {
            ending.add(new Ending(served, nanoClock.getAsLong() + LAST_RECEIVE_NANOS));
        } else {
            finish(served);
        }
    }

    /** Destroys the queue pair that has had its last receive. */
    void onDeviceEvent(AsyncEvent event) {
        if (event.type() == AsyncEvent.Type.LAST_WQE_REACHED) {
            ending.removeIf(each -> {
                boolean reached = event.isAbout(each.served.pair());
                if (reached) {
                    finish(each.served);
                }
                return reached;
            });
        }
    }

    /** Destroys queue pairs for which the device sent no event in time. */
    void expire() {
        long now = nanoClock.getAsLong();
        while (!ending.isEmpty() && now - ending.element().deadlineNanos >= 0) {
            finish(ending.remove().served);
        }
    }

    /** Destroys a queue pair whatever becomes of the others; one that cannot be destroyed stays in error. */
    private void finish(ServedPair served) {
        try {
            // Flushed receives return to the shared queue.
            responder.serve();
        } catch (RuntimeException e) {
            LOG.debug("Receives of {} are not known to have come back", served.pair(), e);
        }
        try {
            served.pair().close();
            responder.release(served.querier());
        } catch (RuntimeException e) {
            LOG.warn("Could not close {}, which its peer no longer uses", served.pair(), e);
        } finally {
            ids.end(served.id());
        }
    }

    @Override
    public void close() {
        while (!ending.isEmpty()) {
            finish(ending.remove().served);
        }
    }
}
