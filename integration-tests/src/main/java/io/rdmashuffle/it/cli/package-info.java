/**
 * What the command lines of {@code bin/} have in common.
 *
 * <p>May use picocli and the progress bar only. Must never run a command.
 */
@NullMarked
package io.rdmashuffle.it.cli;

import org.jspecify.annotations.NullMarked;
