// SPDX-License-Identifier: Apache-2.0
/**
 * The structure of the code, measured and held: which packages may use which, and where classes use each other in a
 * circle.
 *
 * <p>{@link io.rdmashuffle.house.HouseTest} has the rules, {@link io.rdmashuffle.house.HouseReport} prints the figures.
 */
@NullMarked
package io.rdmashuffle.house;

import org.jspecify.annotations.NullMarked;
