// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import java.io.IOException;

/** Runs a query on all configurations. */
interface QueryRunner {
    /** Returns whether a configuration has yet to be started, at all or anew after it died. */
    boolean isCold();

    /** Ends all configurations; the next query starts them anew. */
    void restart();

    /** Runs a query on all, for nothing but to have it run before. */
    void warmUp(String query) throws IOException, InterruptedException;

    /** Runs a query on all, in the order of this round, and drops its shuffles. */
    QueryRound round(String query) throws IOException, InterruptedException;
}
