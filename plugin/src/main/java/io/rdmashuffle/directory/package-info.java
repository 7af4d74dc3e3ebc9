// SPDX-License-Identifier: Apache-2.0
/**
 * Directory of an executor's map outputs: tables in registered memory that peers read one-sidedly.
 *
 * <p>May use {@code fabric}, {@code ffi}, {@code lifecycle}, {@code memory}, {@code memory.disk},
 * {@code memory.slice} and {@code text}. Must never ask a peer's processor for anything, or trust a byte that a peer
 * wrote before its checksum has been compared.
 */
@NullMarked
package io.rdmashuffle.directory;

import org.jspecify.annotations.NullMarked;
