// SPDX-License-Identifier: Apache-2.0
/**
 * perftest's programs, which the benches of fabric and verbs are compared with.
 *
 * <p>May use native-verbs, which the plugin is built on. Must never measure anything itself.
 */
@NullMarked
package io.rdmashuffle.bench.perftest;

import org.jspecify.annotations.NullMarked;
