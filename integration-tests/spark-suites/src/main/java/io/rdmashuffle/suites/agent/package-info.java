// SPDX-License-Identifier: Apache-2.0
/**
 * Code inside a suite's JVM: sets the chosen shuffle manager in every Spark application, and counts shuffles by
 * manager. Suites carry configurations of their own, some without defaults, so that a system property does not reach
 * them all; the class that every driver's environment comes from does.
 *
 * <p>May use Byte Buddy, Spark and the plugin. Must never change what a suite asserts, or a setting other than those it
 * was told.
 */
@NullMarked
package io.rdmashuffle.suites.agent;

import org.jspecify.annotations.NullMarked;
