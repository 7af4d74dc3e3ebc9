/**
 * Measurements against something else in the same run: ratios, medians, the alternative in turn; never an absolute number
 * alone.
 */
@NullMarked
package io.rdmashuffle.it.bench;

import org.jspecify.annotations.NullMarked;
