// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One round of one query: replies of all configurations, and whether our rows equal sort shuffle's.
 *
 * @param replies of all configurations, including failed ones
 */
record QueryRound(QueryVerdict verdict, Map<Configuration, QueryReply> replies) {
    QueryRound {
        replies = Map.copyOf(replies);
    }

    QueryReply of(Configuration configuration) {
        QueryReply reply = replies.get(configuration);
        if (reply == null) {
            throw new IllegalStateException(configuration.label() + " does not take part");
        }
        return reply;
    }

    /** Returns whether a configuration takes part and came to its end. */
    boolean has(Configuration configuration) {
        QueryReply reply = replies.get(configuration);
        return reply != null && reply.ok();
    }

    /** Returns whether another round can add to this one: not after a failure or different rows. */
    boolean isWorthRepeating() {
        return verdict.equal() && complete();
    }

    boolean complete() {
        return replies.values().stream().allMatch(QueryReply::ok);
    }

    /** Returns the failures with their causes; empty if all runs ended well. */
    String errors() {
        return replies.entrySet().stream()
                .filter(entry -> !entry.getValue().ok())
                .sorted(Map.Entry.comparingByKey())
                .map(entry -> entry.getKey().label() + ": " + entry.getValue().error())
                .collect(Collectors.joining("; "));
    }
}
