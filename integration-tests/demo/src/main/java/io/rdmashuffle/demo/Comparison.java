// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.demo.QueryRequest.Operation;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs queries on both applications, in turns so that neither always goes first, and compares the results.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closes both applications.
 */
public final class Comparison implements AutoCloseable {
    private final Application sort;
    private final Application ours;
    private final QueryCatalogue catalogue;
    private int turn;

    /** Takes over both applications; they are started when they are needed. */
    public Comparison(Application sort, Application ours, QueryCatalogue catalogue) {
        this.sort = sort;
        this.ours = ours;
        this.catalogue = catalogue;
    }

    /**
     * Starts both and runs one query on each untimed, so that the first line of the table is not about class loading.
     */
    public void warmUp(String query) throws IOException, InterruptedException {
        sort.run(query, Operation.RUN);
        ours.run(query, Operation.RUN);
    }

    /** Runs and compares one query. */
    public QueryComparison compare(String query) throws IOException, InterruptedException {
        boolean sortFirst = turn++ % 2 == 0;
        QueryReply early = (sortFirst ? sort : ours).run(query, Operation.RUN);
        QueryReply late = (sortFirst ? ours : sort).run(query, Operation.RUN);
        QueryReply ofSort = sortFirst ? early : late;
        QueryReply ofOurs = sortFirst ? late : early;
        return new QueryComparison(query, verdict(query, ofSort, ofOurs), ofSort, ofOurs);
    }

    /** Drops the shuffles of all queries so far and returns what our manager still holds. */
    QueryReply drain() throws IOException, InterruptedException {
        return ours.ask(new QueryRequest(Operation.DRAIN, "", ""));
    }

    /** Drops the shuffles of all queries so far on both sides, so that neither is in the way of the next. */
    public void dropShuffles() throws IOException, InterruptedException {
        sort.ask(new QueryRequest(Operation.DRAIN, "", ""));
        drain();
    }

    private QueryVerdict verdict(String query, QueryReply ofSort, QueryReply ofOurs)
            throws IOException, InterruptedException {
        if (!ofSort.ok()) {
            return QueryVerdict.NOT_RUN;
        }
        if (!ofOurs.ok()) {
            return QueryVerdict.OURS_FAILED;
        }
        List<List<@Nullable Object>> sortRows = ResultFile.read(sort.resultFile());
        List<List<@Nullable Object>> ourRows = ResultFile.read(ours.resultFile());
        if (ResultComparison.equal(sortRows, ourRows)) {
            return QueryVerdict.EQUAL;
        }
        if (FinalLimit.in(catalogue.text(query)) && differOnlyInTies(query, sortRows, ourRows)) {
            return QueryVerdict.EQUAL_BUT_TIES;
        }
        return QueryVerdict.DIFFERENT;
    }

    /** Runs the query without its LIMIT: both must agree on all rows, and each limited result must come from them. */
    private boolean differOnlyInTies(
            String query, List<List<@Nullable Object>> sortRows, List<List<@Nullable Object>> ourRows)
            throws IOException, InterruptedException {
        if (sortRows.size() != ourRows.size()
                || !sort.run(query, Operation.RUN_UNLIMITED).ok()
                || !ours.run(query, Operation.RUN_UNLIMITED).ok()) {
            return false;
        }
        List<List<@Nullable Object>> all = ResultFile.read(sort.resultFile());
        return ResultComparison.equal(all, ResultFile.read(ours.resultFile()))
                && ResultComparison.contained(sortRows, all)
                && ResultComparison.contained(ourRows, all);
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
