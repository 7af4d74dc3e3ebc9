// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import java.util.Map;

/**
 * One line of the report.
 *
 * @param sort sort shuffle's reply
 * @param ours ours
 */
public record QueryComparison(String name, QueryVerdict verdict, QueryReply sort, QueryReply ours) {
    /** Returns sort shuffle's time over ours: 2 is twice as fast, 0 means that ours has no time. */
    public double ratio() {
        return ours.millis() == 0 ? 0 : (double) sort.millis() / ours.millis();
    }

    Map<String, Long> counters() {
        return ours.counters();
    }

    @Override
    public String toString() {
        return name + ": " + verdict.label() + ", sort " + sort.millis() + " ms, ours " + ours.millis() + " ms";
    }
}
