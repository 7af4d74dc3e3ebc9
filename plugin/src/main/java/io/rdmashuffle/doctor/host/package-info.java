// SPDX-License-Identifier: Apache-2.0
/**
 * Doctor of one host: examines whether an executor here would use RDMA, and reports obstacles with remedies.
 *
 * <p>Runs by {@code java -jar}, where neither Spark nor SLF4J is on the class path, and decides by the same code as an
 * executor does: settings, limits, ports. May use {@code conf}, {@code doctor.report}, {@code fabric},
 * {@code fabric.verbs.device}, {@code ffi}, {@code memory}, {@code memory.host}, {@code ofi}, {@code text},
 * {@code verbs} and {@code verbs.async}. Must never change the machine, or load a class that needs Spark, Scala or
 * SLF4J.
 */
@NullMarked
package io.rdmashuffle.doctor.host;

import org.jspecify.annotations.NullMarked;
