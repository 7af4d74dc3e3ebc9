// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench reports}: what executors' reports cost the driver.
 *
 * <p>May use {@code io.rdmashuffle.harness.cli}, the plugin and Spark. Must never start an application.
 */
@NullMarked
package io.rdmashuffle.bench.reports;

import org.jspecify.annotations.NullMarked;
