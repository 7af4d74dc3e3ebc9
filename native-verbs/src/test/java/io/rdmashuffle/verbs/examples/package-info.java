// SPDX-License-Identifier: Apache-2.0
/**
 * Two programs to try a device and its network with: {@link io.rdmashuffle.verbs.examples.Pingpong} and
 * {@link io.rdmashuffle.verbs.examples.Bandwidth}, as ibv_rc_pingpong and perftest's ib_read_bw are in C.
 *
 * <p>Each is a server and a client, which serve one run and end. They need the JDK, jnr-ffi, picocli, libibverbs and
 * librdmacm, post and poll with {@code io.rdmashuffle.verbs} as a library that counts microseconds does, and are an
 * example of that. Every wait has a deadline; exit codes are 0, 1 for a failure and 2 for a command line that makes no
 * sense. May use {@code io.rdmashuffle.verbs} and {@code io.rdmashuffle.ffi}; must never be used by another package of
 * this library, or read a setting from anywhere but the command line.
 */
@NullMarked
package io.rdmashuffle.verbs.examples;

import org.jspecify.annotations.NullMarked;
