// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.demo.QueryRequest.Operation;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Compares what two applications answered to the same query, all rows.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the applications are the caller's.
 */
public final class ResultJudge {
    private final QueryCatalogue catalogue;

    /** Knows the texts of the queries. */
    public ResultJudge(QueryCatalogue catalogue) {
        this.catalogue = catalogue;
    }

    /** Compares the last results of both, which must be those of one query; asks again where ties may have decided. */
    public QueryVerdict verdict(String query, Application sort, QueryReply ofSort, Application ours, QueryReply ofOurs)
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
        if (FinalLimit.in(catalogue.text(query)) && differOnlyInTies(query, sort, sortRows, ours, ourRows)) {
            return QueryVerdict.EQUAL_BUT_TIES;
        }
        return QueryVerdict.DIFFERENT;
    }

    /** Runs the query without its LIMIT: both must agree on all rows, and each limited result must come from them. */
    private static boolean differOnlyInTies(
            String query,
            Application sort,
            List<List<@Nullable Object>> sortRows,
            Application ours,
            List<List<@Nullable Object>> ourRows)
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
}
