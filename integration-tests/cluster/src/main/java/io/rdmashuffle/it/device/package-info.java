// SPDX-License-Identifier: Apache-2.0
/**
 * Spark jobs that prove the verbs path on an RDMA device: run by {@code bin/rxe-test}, once with sort shuffle to learn
 * the right results and then over the device, on one host and across hosts.
 *
 * <p>May use {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, {@code io.rdmashuffle.harness.tpcds},
 * Spark, and the plugin. Must never assert times, only results and bytes by path: the device may be emulated.
 */
@NullMarked
package io.rdmashuffle.it.device;

import org.jspecify.annotations.NullMarked;
