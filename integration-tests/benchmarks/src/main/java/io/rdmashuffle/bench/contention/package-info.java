// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench contention}: structures that every block and lease passes, used by many threads at once.
 *
 * <p>May use {@code io.rdmashuffle.bench.micro}, {@code io.rdmashuffle.harness.cli} and the plugin. Must never start an
 * application.
 */
@NullMarked
package io.rdmashuffle.bench.contention;

import org.jspecify.annotations.NullMarked;
