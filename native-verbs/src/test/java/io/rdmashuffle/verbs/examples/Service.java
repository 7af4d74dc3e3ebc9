// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;

/**
 * The server's side of Bandwidth: memory for READs and WRITEs, and receives for messages and reports.
 *
 * <pre>
 *  0                                depth x bytes
 *  +---------+-----+---------+---------+---------+---------+---------+
 *  |piece 0  | ... |piece n-1| receive 0         ...       | receive m-1 |
 *  +---------+-----+---------+---------+---------+---------+---------+
 * </pre>
 *
 * <p>There are four receives, which is enough for reports; for SENDs twice the depth, so that there is always one while
 * others are posted again.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it, and the link after it.
 */
final class Service implements AutoCloseable {
    private static final int REPORTS = 4;

    private final Side side;
    private final Plan plan;
    private final Arrivals arrivals;
    private final ReceiveRequests chain;

    Service(Link link, Plan plan, Duration timeout) {
        this.side = link.side();
        this.plan = plan;
        this.arrivals = new Arrivals(link, receives(plan), timeout, plan.work() != Plan.Work.SEND);
        this.chain = new ReceiveRequests(receives(plan));
    }

    /** What the server's side needs. */
    static Side.Needs needs(Plan plan) {
        Set<Access> rights = switch (plan.work()) {
            case READ -> Set.of(Access.REMOTE_READ);
            case WRITE -> Set.of(Access.REMOTE_WRITE);
            default -> Set.of();
        };
        return new Side.Needs(
                piecesBytes(plan) + (long) receives(plan) * receiveBytes(plan), 1, receives(plan), rights);
    }

    private static long piecesBytes(Plan plan) {
        return plan.work() == Plan.Work.SEND ? 0 : (long) plan.depth() * plan.bytes();
    }

    private static int receives(Plan plan) {
        return plan.work() == Plan.Work.SEND ? 2 * plan.depth() : REPORTS;
    }

    private static int receiveBytes(Plan plan) {
        return plan.work() == Plan.Work.SEND ? Math.max(plan.bytes(), Report.BYTES) : Report.BYTES;
    }

    /** Posts the receives, before the peer can send; returns what the client must know. */
    static Target prepare(Side side, Plan plan) {
        try (ReceiveRequests all = new ReceiveRequests(receives(plan))) {
            for (int slot = 0; slot < receives(plan); slot++) {
                add(all, side, plan, slot);
            }
            side.pair().post(all);
        }
        return new Target(side.at(0), side.region().remoteKey());
    }

    private static long receivedAt(Side side, Plan plan, int slot) {
        return side.at(piecesBytes(plan) + (long) slot * receiveBytes(plan));
    }

    private static void add(ReceiveRequests chain, Side side, Plan plan, int slot) {
        chain.add(slot, receivedAt(side, plan, slot), receiveBytes(plan), side.localKey());
    }

    /** Takes messages until the client reports that it is done; tells it that the report has come. */
    Report run() throws IOException {
        int left = plan.work() == Plan.Work.SEND ? plan.count() : 0;
        String what = left > 0 ? "message of " + plan.bytes() + " bytes" : "report of the client";
        while (true) {
            WorkCompletions completions = arrivals.await(what);
            chain.clear();
            for (int i = 0; i < completions.count(); i++) {
                int slot = (int) completions.workRequestId(i);
                if (left > 0) {
                    left--;
                } else {
                    Report report = Report.read(receivedAt(side, plan, slot));
                    if (report.last()) {
                        answer(slot);
                        return report;
                    }
                }
                add(chain, side, plan, slot);
            }
            side.pair().post(chain);
        }
    }

    /** Sends the report back: until it has it, the client does not close. */
    private void answer(int slot) {
        try (SendRequests answer = new SendRequests(1, 1)) {
            side.pair().post(answer.send(0, receivedAt(side, plan, slot), Report.BYTES, side.localKey(), true));
            arrivals.await("completion of the answer");
        } catch (IOException e) {
            // the client has gone, with or without the answer: the result is known all the same
        }
    }

    @Override
    public void close() {
        arrivals.close();
        chain.close();
    }
}
