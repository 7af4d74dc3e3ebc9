// SPDX-License-Identifier: Apache-2.0
/** Tests. */
@NullMarked
package io.rdmashuffle.bench.shuffle;

import org.jspecify.annotations.NullMarked;
