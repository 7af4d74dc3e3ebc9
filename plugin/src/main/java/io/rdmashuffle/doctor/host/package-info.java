// SPDX-License-Identifier: Apache-2.0
/**
 * The doctor of one host: looks at everything that decides whether an executor here would use RDMA, and says what is in
 * the way and what to do about it.
 *
 * <p>Runs by {@code java -jar}, where neither Spark nor SLF4J is on the class path, and decides by the same code as
 * an executor does: settings, limits, ports. May use {@code conf}, {@code doctor.report}, {@code fabric},
 * {@code fabric.verbs.device}, {@code ffi}, {@code memory}, {@code memory.host}, {@code text}, {@code verbs} and
 * {@code verbs.async}. Must never change the machine, or load a class that needs Spark, Scala or SLF4J.
 */
@NullMarked
package io.rdmashuffle.doctor.host;

import org.jspecify.annotations.NullMarked;
