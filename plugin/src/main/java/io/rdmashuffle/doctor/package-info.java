// SPDX-License-Identifier: Apache-2.0
/**
 * The doctor of a cluster: a Spark application that tells which way each executor reaches each other one, how fast, and
 * why it is not a better one.
 *
 * <p>May use {@code doctor.host}, {@code doctor.report}, {@code fabric}, {@code ofi}, {@code peer}, {@code spark},
 * {@code verbs} and Spark. Must never need more of Spark than its Java API, or read in another way than tasks do.
 */
@NullMarked
package io.rdmashuffle.doctor;

import org.jspecify.annotations.NullMarked;
