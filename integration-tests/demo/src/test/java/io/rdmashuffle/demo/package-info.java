// SPDX-License-Identifier: Apache-2.0
/** Tests. */
@NullMarked
package io.rdmashuffle.demo;

import org.jspecify.annotations.NullMarked;
