// SPDX-License-Identifier: Apache-2.0
/** Faults on local clusters, each at a place in a job: the result is sort shuffle's, and nothing is held afterwards. */
@NullMarked
package io.rdmashuffle.it.faults;

import org.jspecify.annotations.NullMarked;
