// SPDX-License-Identifier: Apache-2.0
/**
 * Reliable datagram endpoints of libfabric that read remote memory, for networks that librdmacm cannot connect: AWS
 * EFA, Slingshot; nothing of Spark.
 *
 * <p>Every native object has one owner here. Calls that post and poll make no garbage and never block. May use {@code
 * io.rdmashuffle.ffi}, and of {@code io.rdmashuffle.verbs} the exception for a machine without RDMA; must never log or
 * retry.
 *
 * <p>The library shares the JVM's process with code that handles signals: {@link io.rdmashuffle.ofi.OfiLibrary} refuses
 * it if it takes a signal of the JVM.
 */
@NullMarked
package io.rdmashuffle.ofi;

import org.jspecify.annotations.NullMarked;
