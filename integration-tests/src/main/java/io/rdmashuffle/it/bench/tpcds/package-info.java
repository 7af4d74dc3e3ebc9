/**
 * {@code bin/bench tpcds}: TPC-DS queries on sort shuffle and on ours, several times in turn, ratios of medians.
 *
 * <p>Applications, queries and the comparison of results are the demo's. Must never report a ratio of results that differ.
 */
@NullMarked
package io.rdmashuffle.it.bench.tpcds;

import org.jspecify.annotations.NullMarked;
