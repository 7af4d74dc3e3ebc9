// SPDX-License-Identifier: Apache-2.0
/**
 * Checks that classes run on jars that they were not compiled against. Knows nothing of this project but where its
 * classes lie.
 */
@NullMarked
package io.rdmashuffle.link;

import org.jspecify.annotations.NullMarked;
