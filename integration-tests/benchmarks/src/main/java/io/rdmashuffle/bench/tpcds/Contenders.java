// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Contender;
import io.rdmashuffle.bench.Turns;
import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import io.rdmashuffle.demo.ResultJudge;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The applications of a run, each of which lives until it fails; then it is started again.
 *
 * <p><b>Threading:</b> one thread; only one application works at a time. <b>Ownership:</b> owns and closes them.
 */
final class Contenders implements QueryRunner, AutoCloseable {
    private final Map<Contender, Application> applications;
    private final Contender reference;
    private final ResultJudge judge;
    private final Turns<Contender> turns;

    /**
     * Takes over applications that are started when they are needed.
     *
     * @param applications ours among them
     * @param reference whose rows ours must have
     */
    Contenders(Map<Contender, Application> applications, Contender reference, ResultJudge judge) {
        this.applications = new EnumMap<>(applications);
        this.reference = reference;
        this.judge = judge;
        this.turns = new Turns<>(this.applications.keySet());
    }

    private Application of(Contender contender) {
        Application application = applications.get(contender);
        if (application == null) {
            throw new IllegalStateException(contender.label() + " does not take part");
        }
        return application;
    }

    @Override
    public boolean isCold() {
        return !applications.values().stream().allMatch(Application::isRunning);
    }

    @Override
    public void warmUp(String query) throws IOException, InterruptedException {
        for (Application application : applications.values()) {
            application.run(query);
        }
        dropShuffles();
    }

    @Override
    public QueryRound round(String query) throws IOException, InterruptedException {
        List<Contender> order = turns.next();
        Map<Contender, QueryReply> replies = new EnumMap<>(Contender.class);
        for (Contender contender : order) {
            replies.put(contender, of(contender).run(query));
        }
        QueryRound asked = new QueryRound(QueryVerdict.NOT_RUN, replies);
        QueryVerdict verdict =
                judge.verdict(query, of(reference), asked.of(reference), of(Contender.OURS), asked.of(Contender.OURS));
        dropShuffles();
        return new QueryRound(verdict, replies);
    }

    private void dropShuffles() throws IOException, InterruptedException {
        for (Application application : applications.values()) {
            // One that died has none; to ask it would be to start it.
            if (application.isRunning()) {
                application.dropShuffles();
            }
        }
    }

    @Override
    public void close() {
        RuntimeException failure = null;
        for (Application application : applications.values()) {
            try {
                application.close();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
