// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import io.rdmashuffle.demo.QueryWork;
import java.util.Map;

/** Rounds of queries, for tests. */
final class Rounds {
    private static final long TASKS = 10;

    private Rounds() {}

    static QueryReply reply(long millis, long reduceTasks) {
        return new QueryReply(
                "",
                5,
                millis,
                millis * 2,
                1_000,
                Map.of(),
                new QueryWork(reduceTasks, 500, 70, 80, new QueryWork.Faults(1, 2, 3)),
                "");
    }

    static QueryReply failed(String error) {
        return new QueryReply("", 0, 0, 0, 0, Map.of(), new QueryWork(0, 0, 0, 0, QueryWork.Faults.NONE), error);
    }

    /** Returns a round of sort-disk, sort-bare and ours. */
    static QueryRound round(QueryVerdict verdict, long disk, long bare, long ours) {
        return new QueryRound(
                verdict,
                Map.of(
                        Configuration.SORT_DISK,
                        reply(disk, TASKS),
                        Configuration.SORT_BARE,
                        reply(bare, 2 * TASKS),
                        Configuration.OURS,
                        reply(ours, TASKS)));
    }

    /** Returns a round with equal rows in which sort-bare is far behind. */
    static QueryRound round(long disk, long ours) {
        return round(QueryVerdict.EQUAL, disk, disk * 9, ours);
    }
}
