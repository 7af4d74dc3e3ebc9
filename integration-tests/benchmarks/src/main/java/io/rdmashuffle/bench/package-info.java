// SPDX-License-Identifier: Apache-2.0
/**
 * Shared code of benchmarks: configurations and their order, options, folders of a run, medians with spread, ratios.
 *
 * <p>May use {@code io.rdmashuffle.harness} and {@code io.rdmashuffle.harness.cli}, and Spark for how it reads sizes.
 * Must never print an absolute number without a comparison from the same run.
 */
@NullMarked
package io.rdmashuffle.bench;

import org.jspecify.annotations.NullMarked;
