// SPDX-License-Identifier: Apache-2.0
/**
 * An application for a virtual machine of its own, with whatever Spark and Java a test has put together.
 *
 * <p>May use Spark, and the plugin's counters. Must never name anything that some line of Spark lacks.
 */
@NullMarked
package io.rdmashuffle.it.lines;

import org.jspecify.annotations.NullMarked;
