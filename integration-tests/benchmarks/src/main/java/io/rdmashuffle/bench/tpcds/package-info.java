// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench tpcds}: TPC-DS queries on sort shuffle in several configurations and on ours, several times in turn;
 * each query is judged by all of its rounds against the fastest of the run.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.demo} for applications and the comparison of results,
 * and {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, {@code io.rdmashuffle.harness.tpcds}. Must
 * never report a ratio of results that differ, nor of some rounds without the others.
 */
@NullMarked
package io.rdmashuffle.bench.tpcds;

import org.jspecify.annotations.NullMarked;
