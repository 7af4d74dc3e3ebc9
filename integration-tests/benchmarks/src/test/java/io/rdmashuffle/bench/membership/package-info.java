// SPDX-License-Identifier: Apache-2.0
/** Tests. */
@NullMarked
package io.rdmashuffle.bench.membership;

import org.jspecify.annotations.NullMarked;
