// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench metadata --membership}: how long it takes until thousands of executors know each other, and who
 * sends how much for it, in virtual time. Driver's registry, executors' agents and codec are the plugin's own; the
 * network is a model.
 *
 * <p>May use {@code io.rdmashuffle.harness.cli} and the plugin's {@code registry}. Must never use Spark, or wait.
 */
@NullMarked
package io.rdmashuffle.bench.membership;

import org.jspecify.annotations.NullMarked;
