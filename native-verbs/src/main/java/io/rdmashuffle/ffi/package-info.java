// SPDX-License-Identifier: Apache-2.0
/**
 * The C library, libibverbs, librdmacm and libfabric as Java sees them: functions through jffi and interfaces of
 * jnr-ffi, struct layouts and constants, C names verbatim.
 *
 * <p>May use jnr-ffi and jffi. Must never decide anything: no retries, no defaults, no logging. Callers turn
 * return codes into exceptions through {@link io.rdmashuffle.ffi.NativeException}.
 */
@NullMarked
package io.rdmashuffle.ffi;

import org.jspecify.annotations.NullMarked;
