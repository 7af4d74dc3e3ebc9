// SPDX-License-Identifier: Apache-2.0
/**
 * Application for a separate JVM, with any Spark and Java version.
 *
 * <p>May use Spark, and the plugin's counters. Must never use a member that some Spark version lacks.
 */
@NullMarked
package io.rdmashuffle.it.lines;

import org.jspecify.annotations.NullMarked;
