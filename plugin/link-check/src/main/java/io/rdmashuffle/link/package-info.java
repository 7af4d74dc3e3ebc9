// SPDX-License-Identifier: Apache-2.0
/**
 * What compiled classes refer to, and whether they run on jars that they were not compiled against. Must know
 * nothing of this project.
 */
@NullMarked
package io.rdmashuffle.link;

import org.jspecify.annotations.NullMarked;
