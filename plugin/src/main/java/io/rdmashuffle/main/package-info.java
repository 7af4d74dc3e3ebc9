// SPDX-License-Identifier: Apache-2.0
/**
 * What {@code java -jar} runs.
 *
 * <p>May use {@code doctor.host}. Must never do anything by itself.
 */
@NullMarked
package io.rdmashuffle.main;

import org.jspecify.annotations.NullMarked;
