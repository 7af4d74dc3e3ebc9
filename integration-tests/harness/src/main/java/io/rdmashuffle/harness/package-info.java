// SPDX-License-Identifier: Apache-2.0
/**
 * What everything that runs Spark from this repository shares: where things lie, a Spark home made of links, processes
 * and what they hold.
 *
 * <p>May use the JDK only, so that it runs before any class path is known. Must never start Spark in its own process.
 */
@NullMarked
package io.rdmashuffle.harness;

import org.jspecify.annotations.NullMarked;
