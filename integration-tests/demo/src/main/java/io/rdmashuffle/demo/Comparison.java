// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.io.IOException;

/**
 * Runs queries on both applications, in turns so that neither always goes first, and compares the results.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closes both applications.
 */
public final class Comparison implements AutoCloseable {
    private final Application sort;
    private final Application ours;
    private final ResultJudge judge;
    private int turn;

    /** Assumes ownership of both applications; they are started when they are needed. */
    public Comparison(Application sort, Application ours, QueryCatalogue catalogue) {
        this.sort = sort;
        this.ours = ours;
        this.judge = new ResultJudge(catalogue);
    }

    /**
     * Starts both and runs one query on each untimed, so that the first line of the table is not about class loading.
     */
    public void warmUp(String query) throws IOException, InterruptedException {
        sort.run(query);
        ours.run(query);
    }

    /** Runs and compares one query. */
    public QueryComparison compare(String query) throws IOException, InterruptedException {
        boolean sortFirst = turn++ % 2 == 0;
        QueryReply early = (sortFirst ? sort : ours).run(query);
        QueryReply late = (sortFirst ? ours : sort).run(query);
        QueryReply ofSort = sortFirst ? early : late;
        QueryReply ofOurs = sortFirst ? late : early;
        return new QueryComparison(query, judge.verdict(query, sort, ofSort, ours, ofOurs), ofSort, ofOurs);
    }

    /** Drops the shuffles of all queries so far on both sides. */
    public void dropShuffles() throws IOException, InterruptedException {
        sort.dropShuffles();
        ours.dropShuffles();
    }

    /** Drops the shuffles of all queries so far and returns what our manager still holds. */
    QueryReply drain() throws IOException, InterruptedException {
        return ours.dropShuffles();
    }

    @Override
    public void close() {
        try {
            ours.close();
        } finally {
            sort.close();
        }
    }
}
