/**
 * Measurements against something else in the same run: ratios, medians, the alternative in turn; never an absolute number
 * alone.
 *
 * <p>Here are READs beside perftest's, and the arithmetic that {@code shuffle} and {@code tpcds} below share.
 */
@NullMarked
package io.rdmashuffle.it.bench;

import org.jspecify.annotations.NullMarked;
