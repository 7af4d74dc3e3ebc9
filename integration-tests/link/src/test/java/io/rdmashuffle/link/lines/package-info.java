// SPDX-License-Identifier: Apache-2.0
/** Links what this project compiles against the jars of each line of Spark. */
@NullMarked
package io.rdmashuffle.link.lines;

import org.jspecify.annotations.NullMarked;
