// SPDX-License-Identifier: Apache-2.0
/**
 * Limits of the host that bound a pool: memory of the container, free space and mount options of its directory.
 *
 * <p>May use the JDK only.
 */
@NullMarked
package io.rdmashuffle.memory.host;

import org.jspecify.annotations.NullMarked;
