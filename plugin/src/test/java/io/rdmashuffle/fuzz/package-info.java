// SPDX-License-Identifier: Apache-2.0
/** Shared code of fuzz tests: seeded damage, and counts of outcomes. */
@NullMarked
package io.rdmashuffle.fuzz;

import org.jspecify.annotations.NullMarked;
