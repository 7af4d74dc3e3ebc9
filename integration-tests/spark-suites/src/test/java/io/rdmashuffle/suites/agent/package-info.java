// SPDX-License-Identifier: Apache-2.0
/** Tests. */
@NullMarked
package io.rdmashuffle.suites.agent;

import org.jspecify.annotations.NullMarked;
