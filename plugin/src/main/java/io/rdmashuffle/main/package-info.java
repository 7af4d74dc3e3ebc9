// SPDX-License-Identifier: Apache-2.0
/**
 * Main class of the jar.
 *
 * <p>May use {@code doctor.host}. Must never do anything by itself.
 */
@NullMarked
package io.rdmashuffle.main;

import org.jspecify.annotations.NullMarked;
