// SPDX-License-Identifier: Apache-2.0
/**
 * A YARN cluster of this host, and an application in which every executor reads the pools of all others.
 *
 * <p>May use {@code io.rdmashuffle.harness} and Spark. Must never depend on the shuffle manager that it runs with.
 */
@NullMarked
package io.rdmashuffle.yarn;

import org.jspecify.annotations.NullMarked;
