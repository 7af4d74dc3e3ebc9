// SPDX-License-Identifier: Apache-2.0
/**
 * What the benchmarks below share: who takes part and in which order, options of a comparison, folders of a run,
 * medians with their spread, ratios.
 *
 * <p>May use {@code io.rdmashuffle.harness} and {@code io.rdmashuffle.harness.cli}, and Spark for how it reads sizes.
 * Must never show an absolute number without what it is compared with in the same run.
 */
@NullMarked
package io.rdmashuffle.bench;

import org.jspecify.annotations.NullMarked;
