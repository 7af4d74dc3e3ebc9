// SPDX-License-Identifier: Apache-2.0
/** Tests. */
@NullMarked
package io.rdmashuffle.harness;

import org.jspecify.annotations.NullMarked;
