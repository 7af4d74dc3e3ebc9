// SPDX-License-Identifier: Apache-2.0
/** Link tests of this project's classes against the jars of each Spark version. */
@NullMarked
package io.rdmashuffle.link.lines;

import org.jspecify.annotations.NullMarked;
