// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Client side of Bandwidth: keeps {@code depth} operations outstanding, each on its own piece of memory.
 *
 * <pre>
 *  0                        depth x bytes
 *  +---------+-----+---------+--------+--------+
 *  |piece 0  | ... |piece n-1| report | answer |
 *  +---------+-----+---------+--------+--------+
 * </pre>
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it, and the link after it.
 */
final class Load implements AutoCloseable {
    /** Seldom enough to cost nothing; well below the least timeout of a server, which is a second. */
    private static final long REPORT_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private static final long REPORT = -1;
    private static final long ANSWER = -2;

    private final Link link;
    private final Side side;
    private final Plan plan;
    private final Target target;
    private final Arrivals arrivals;
    private final SendRequests chain;
    private boolean reporting;
    private boolean answered;
    private long reportedAt = System.nanoTime();

    /** What the client's side needs. */
    static Side.Needs needs(Plan plan) {
        return new Side.Needs((long) plan.depth() * plan.bytes() + 2 * Report.BYTES, plan.depth() + 1, 1, Set.of());
    }

    /** Posts the receive for the server's answer to the last report, before it can send. */
    static void prepare(Side side, Plan plan) {
        try (ReceiveRequests answer = new ReceiveRequests(1)) {
            side.pair().post(answer.add(ANSWER, reportAt(side, plan) + Report.BYTES, Report.BYTES, side.localKey()));
        }
    }

    private static long reportAt(Side side, Plan plan) {
        return side.at((long) plan.depth() * plan.bytes());
    }

    Load(Link link, Plan plan, Target target, Duration timeout) {
        this.link = link;
        this.side = link.side();
        this.plan = plan;
        this.target = target;
        this.arrivals = new Arrivals(link, plan.depth() + 2, timeout, false);
        this.chain = new SendRequests(plan.depth() + 1, 1);
    }

    /** Executes {@code count} operations; returns the nanoseconds until the last completion. */
    long run(int count) throws IOException {
        long started = System.nanoTime();
        int posted = Math.min(count, plan.depth());
        chain.clear();
        for (int slot = 0; slot < posted; slot++) {
            add(slot);
        }
        post();
        String what = plan.work() + " of " + plan.bytes() + " bytes";
        for (int done = 0; done < count; ) {
            WorkCompletions completions = arrivals.await(what);
            chain.clear();
            for (int i = 0; i < completions.count(); i++) {
                long id = completions.workRequestId(i);
                if (id == REPORT) {
                    reporting = false;
                    continue;
                }
                done++;
                if (posted < count) {
                    add((int) id);
                    posted++;
                }
            }
            if (plan.work() != Plan.Work.SEND && System.nanoTime() - reportedAt > REPORT_NANOS && !reporting) {
                addReport(new Report(false, done, 0));
            }
            post();
        }
        return System.nanoTime() - started;
    }

    /** Tells the server the result, and waits until it has it: on iWARP a SEND is complete when TCP has it. */
    void finish(long operations, long nanos) throws IOException {
        while (reporting) {
            take("completion of a report");
        }
        chain.clear();
        addReport(new Report(true, operations, nanos));
        post();
        while (reporting || !answered) {
            take("answer to the last report");
        }
    }

    private void take(String what) throws IOException {
        WorkCompletions completions = arrivals.await(what);
        for (int i = 0; i < completions.count(); i++) {
            reporting &= completions.workRequestId(i) != REPORT;
            answered |= completions.workRequestId(i) == ANSWER;
        }
    }

    private void add(int slot) {
        long offset = (long) slot * plan.bytes();
        long local = side.at(offset);
        int key = side.localKey();
        long remote = target.address() + offset;
        switch (plan.work()) {
            case READ -> chain.read(slot, local, plan.bytes(), key, remote, target.remoteKey(), true);
            case WRITE -> chain.write(slot, local, plan.bytes(), key, remote, target.remoteKey(), true);
            default -> chain.send(slot, local, plan.bytes(), key, true);
        }
    }

    private void addReport(Report report) {
        long address = reportAt(side, plan);
        report.write(address);
        chain.send(REPORT, address, Report.BYTES, side.localKey(), true);
        reporting = true;
        reportedAt = System.nanoTime();
    }

    private void post() throws IOException {
        if (chain.size() > 0 && side.pair().post(chain) < chain.size()) {
            throw new IOException("the send queue of " + side.pair() + " to " + link.peer() + " is full");
        }
    }

    @Override
    public void close() {
        arrivals.close();
        chain.close();
    }
}
