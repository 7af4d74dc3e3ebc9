// SPDX-License-Identifier: Apache-2.0
/**
 * Bytes that are read where they are: mapped memory, Java arrays and files, with one interface.
 *
 * <p>May use {@code ffi}. Must not know pools or leases.
 */
@NullMarked
package io.rdmashuffle.memory.slice;

import org.jspecify.annotations.NullMarked;
