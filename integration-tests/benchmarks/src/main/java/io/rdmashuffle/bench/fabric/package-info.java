// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench fabric}: READs of the verbs fabric beside perftest's, reads of the shared-memory fabric beside
 * memcpy, and those of TCP and libfabric beside C programs.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.perftest}, {@code io.rdmashuffle.harness.cli},
 * and the plugin. Must never use Spark: it measures the fabric alone.
 */
@NullMarked
package io.rdmashuffle.bench.fabric;

import org.jspecify.annotations.NullMarked;
