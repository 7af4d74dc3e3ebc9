package io.rdmashuffle.fabric.verbs;

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
 * Answers, on one rail, what peers ask about this process's regions.
 *
 * <p>Questions of all peers come through one shared receive queue, so receive memory does not grow with their number. A
 * peer has one answer under way at a time; a question that comes meanwhile is answered after that.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of the {@link Acceptor}; owns the queues, not the queue pairs.
 */
final class AnswerDesk implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AnswerDesk.class);
    private static final int RECEIVES = 64;
    private static final int COMPLETIONS = 1 << 12;
    private static final int POLLED = 32;
    private static final long ANSWER = 1L << 32;

    private final Rail rail;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final SharedReceiveQueue shared;
    private final WorkCompletions completions = new WorkCompletions(POLLED);
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final SendRequests answer = new SendRequests(1, 1);
    private final List<ControlMemory.Slot> questions = new ArrayList<>();
    private final Map<Integer, Acceptor.Served> byPair = new HashMap<>();
    private final Set<Integer> answering = new HashSet<>();
    private final Map<Integer, Integer> deferred = new HashMap<>();

    AnswerDesk(Rail rail) {
        this.rail = rail;
        this.channel = rail.context().createCompletionChannel();
        this.queue = rail.context()
                .createCompletionQueue(Math.min(COMPLETIONS, rail.limits().maxCompletions()), channel);
        this.shared = rail.domain().createSharedReceiveQueue(RECEIVES);
        for (int i = 0; i < RECEIVES; i++) {
            questions.add(rail.controlMemory().take());
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

    void add(Acceptor.Served served) {
        byPair.put(served.pair().number(), served);
    }

    void remove(Acceptor.Served served) {
        byPair.remove(served.pair().number());
        answering.remove(served.pair().number());
        deferred.remove(served.pair().number());
    }

    /** Answers what has been asked. */
    void serve() {
        while (queue.poll(completions) > 0) {
            for (int i = 0; i < completions.count(); i++) {
                handle(i);
            }
        }
    }

    /** Has the channel tell of the next question; returns false if one has come meanwhile. */
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
        if ((id & ANSWER) != 0) {
            answered(pairNumber, completion);
            return;
        }
        int question = (int) id;
        if (completions.succeeded(completion)) {
            answer(pairNumber, questions.get(question).address(), completions.lengthBytes(completion));
        }
        postReceive(question);
    }

    private void answered(int pairNumber, int completion) {
        answering.remove(pairNumber);
        Integer next = deferred.remove(pairNumber);
        Acceptor.Served asker = byPair.get(pairNumber);
        if (!completions.succeeded(completion)) {
            LOG.debug("an answer on queue pair {} was lost: {}", pairNumber, completions.status(completion));
        } else if (next != null && asker != null && answering.add(pairNumber)) {
            send(asker, next);
        }
    }

    private void answer(int pairNumber, long question, int lengthBytes) {
        Acceptor.Served asker = byPair.get(pairNumber);
        int first = RegionTable.readQuestion(question, lengthBytes);
        if (asker == null || first < 0) {
            LOG.debug("no answer to a message on queue pair {}", pairNumber);
        } else if (answering.add(pairNumber)) {
            send(asker, first);
        } else {
            // The device has not yet said that the last answer left; the asker has it all the same.
            deferred.put(pairNumber, first);
        }
    }

    private void send(Acceptor.Served asker, int first) {
        int length = rail.table().writeAnswer(asker.slot().address(), first);
        answer.clear();
        answer.send(ANSWER, asker.slot().address(), length, asker.slot().localKey(), true);
        asker.pair().post(answer);
    }

    private void postReceive(int question) {
        ControlMemory.Slot slot = questions.get(question);
        receive.clear();
        receive.add(question, slot.address(), ControlMemory.SLOT_BYTES, slot.localKey());
        shared.post(receive);
    }

    @Override
    public void close() {
        shared.close();
        queue.close();
        channel.close();
        completions.close();
        receive.close();
        answer.close();
    }
}
