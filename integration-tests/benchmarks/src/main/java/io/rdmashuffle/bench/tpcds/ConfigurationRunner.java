// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
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
 * The applications of a run. One that failed or was closed starts again for the next query.
 *
 * <p><b>Threading:</b> one thread; only one application works at a time. <b>Ownership:</b> owns and closes them.
 */
final class ConfigurationRunner implements QueryRunner, AutoCloseable {
    private final Map<Configuration, Application> applications;
    private final Configuration reference;
    private final ResultJudge judge;
    private final Turns<Configuration> turns;

    /**
     * Assumes ownership of applications that are started when they are needed.
     *
     * @param applications ours among them
     * @param reference whose rows ours must have
     */
    ConfigurationRunner(Map<Configuration, Application> applications, Configuration reference, ResultJudge judge) {
        this.applications = new EnumMap<>(applications);
        this.reference = reference;
        this.judge = judge;
        this.turns = new Turns<>(this.applications.keySet());
    }

    private Application of(Configuration configuration) {
        Application application = applications.get(configuration);
        if (application == null) {
            throw new IllegalStateException(configuration.label() + " does not take part");
        }
        return application;
    }

    @Override
    public boolean isCold() {
        return !applications.values().stream().allMatch(Application::isRunning);
    }

    @Override
    public void restart() {
        close();
    }

    @Override
    public void warmUp(String query) throws IOException, InterruptedException {
        for (Configuration configuration : turns.upcoming()) {
            of(configuration).run(query);
        }
        dropShuffles();
    }

    @Override
    public QueryRound round(String query) throws IOException, InterruptedException {
        List<Configuration> order = turns.next();
        Map<Configuration, QueryReply> replies = new EnumMap<>(Configuration.class);
        for (Configuration configuration : order) {
            replies.put(configuration, of(configuration).run(query));
        }
        QueryRound asked = new QueryRound(QueryVerdict.NOT_RUN, replies);
        QueryVerdict verdict = judge.verdict(
                query, of(reference), asked.of(reference), of(Configuration.OURS), asked.of(Configuration.OURS));
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
