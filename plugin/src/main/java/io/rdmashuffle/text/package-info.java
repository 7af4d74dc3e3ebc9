// SPDX-License-Identifier: Apache-2.0
/**
 * Quantities as people read them in logs and messages.
 *
 * <p>May use the JDK only. Must never read anything back: what configuration accepts is {@code io.rdmashuffle.conf}'s.
 */
@NullMarked
package io.rdmashuffle.text;

import org.jspecify.annotations.NullMarked;
