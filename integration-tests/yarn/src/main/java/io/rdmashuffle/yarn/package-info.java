// SPDX-License-Identifier: Apache-2.0
/**
 * What is submitted to YARN beside the demo's queries: an application in which every executor reads the pools of all
 * others.
 *
 * <p>May use Spark. Must never depend on the shuffle manager that it runs with.
 */
@NullMarked
package io.rdmashuffle.yarn;

import org.jspecify.annotations.NullMarked;
