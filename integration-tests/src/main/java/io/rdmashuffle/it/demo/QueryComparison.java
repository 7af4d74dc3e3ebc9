package io.rdmashuffle.it.demo;

import java.util.Map;

/**
 * One line of the report.
 *
 * @param sort sort shuffle's reply
 * @param ours ours
 */
record QueryComparison(String name, Verdict verdict, QueryReply sort, QueryReply ours) {
    /** Returns how many times as long ours took; 0.5 is twice as fast. */
    double ratio() {
        return sort.millis() == 0 ? 0 : (double) ours.millis() / sort.millis();
    }

    Map<String, Long> counters() {
        return ours.counters();
    }
}
