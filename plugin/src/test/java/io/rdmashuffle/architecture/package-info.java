// SPDX-License-Identifier: Apache-2.0
/**
 * Architecture tests: allowed dependencies between packages, and cycles of classes.
 *
 * <p>{@link io.rdmashuffle.architecture.ArchitectureTest} has the rules, {@link
 * io.rdmashuffle.architecture.ArchitectureReport} prints the figures.
 */
@NullMarked
package io.rdmashuffle.architecture;

import org.jspecify.annotations.NullMarked;
