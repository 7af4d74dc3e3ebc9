// SPDX-License-Identifier: Apache-2.0
/**
 * Shared code of everything that runs Spark from this repository: paths, a Spark home made of links, processes and
 * their resources.
 *
 * <p>May use the JDK only, so that it runs before any class path is known. Must never start Spark in its own process.
 */
@NullMarked
package io.rdmashuffle.harness;

import org.jspecify.annotations.NullMarked;
