// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Contender;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One round of one query: what each contender answered, and whether ours has the rows of sort shuffle.
 *
 * @param replies of all that take part, those that failed, too
 */
record QueryRound(QueryVerdict verdict, Map<Contender, QueryReply> replies) {
    QueryRound {
        replies = Map.copyOf(replies);
    }

    QueryReply of(Contender contender) {
        QueryReply reply = replies.get(contender);
        if (reply == null) {
            throw new IllegalStateException(contender.label() + " does not take part");
        }
        return reply;
    }

    /** Returns whether a contender takes part and came to its end. */
    boolean has(Contender contender) {
        QueryReply reply = replies.get(contender);
        return reply != null && reply.ok();
    }

    boolean complete() {
        return replies.values().stream().allMatch(QueryReply::ok);
    }

    /** Says who failed and why; empty if all came to their end. */
    String errors() {
        return replies.entrySet().stream()
                .filter(entry -> !entry.getValue().ok())
                .sorted(Map.Entry.comparingByKey())
                .map(entry -> entry.getKey().label() + ": " + entry.getValue().error())
                .collect(Collectors.joining("; "));
    }
}
