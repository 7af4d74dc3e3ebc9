// SPDX-License-Identifier: Apache-2.0
/** What the fuzz tests of all formats share: seeded damage, and a count of what became of it. */
@NullMarked
package io.rdmashuffle.fuzz;

import org.jspecify.annotations.NullMarked;
