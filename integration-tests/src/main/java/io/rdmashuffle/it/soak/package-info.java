/**
 * {@code bin/soak}: random jobs under random configurations and faults, each result compared with sort shuffle's.
 *
 * <p>May use {@code io.rdmashuffle.it} and Spark. Only child processes that it started are ever hurt.
 */
@NullMarked
package io.rdmashuffle.it.soak;

import org.jspecify.annotations.NullMarked;
