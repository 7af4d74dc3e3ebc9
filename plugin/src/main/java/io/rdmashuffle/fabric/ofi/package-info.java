// SPDX-License-Identifier: Apache-2.0
/**
 * Fabric that reads peers' memory through libfabric, for networks that librdmacm cannot connect. Executors use it
 * where the kernel has such a device, and in the mode {@code ofi}.
 *
 * <p>An {@link io.rdmashuffle.fabric.ofi.OfiRail} owns the endpoint of a device and its thread. A reader asks a peer
 * for the key of a region ({@link io.rdmashuffle.fabric.ofi.OfiMessage}) and reads it from then on, one {@link
 * io.rdmashuffle.fabric.ofi.OfiRead} for each request. Reads and their pieces complete in any order, and nothing here
 * depends on the order in which bytes arrive.
 *
 * <p>May use {@code ffi}, {@code ofi}, {@code verbs}, {@code fabric}, {@code lifecycle}, {@code memory}, {@code
 * memory.disk}, {@code memory.slice} and SLF4J. Must never know Spark or another provider.
 */
@NullMarked
package io.rdmashuffle.fabric.ofi;

import org.jspecify.annotations.NullMarked;
