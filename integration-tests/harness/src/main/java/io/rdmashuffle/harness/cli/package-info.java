// SPDX-License-Identifier: Apache-2.0
/**
 * What the command lines of {@code bin/} have in common: options, errors, progress, tables.
 *
 * <p>May use {@code io.rdmashuffle.harness}, picocli, the progress bar and the ASCII tables. Must never know a command.
 */
@NullMarked
package io.rdmashuffle.harness.cli;

import org.jspecify.annotations.NullMarked;
