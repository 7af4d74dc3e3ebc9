// SPDX-License-Identifier: Apache-2.0
/**
 * Applications on a YARN cluster of this host, and what conf/yarn.conf asks YARN for. May use JUnit, Spark, the harness
 * and the demo. Must never need a Hadoop installation.
 */
@NullMarked
package io.rdmashuffle.yarn;

import org.jspecify.annotations.NullMarked;
