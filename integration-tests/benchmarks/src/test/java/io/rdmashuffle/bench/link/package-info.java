// SPDX-License-Identifier: Apache-2.0
/** Tests of the model of a network. */
@NullMarked
package io.rdmashuffle.bench.link;

import org.jspecify.annotations.NullMarked;
