// SPDX-License-Identifier: Apache-2.0
/** Tests of the soak's own parts. */
@NullMarked
package io.rdmashuffle.it.soak;

import org.jspecify.annotations.NullMarked;
