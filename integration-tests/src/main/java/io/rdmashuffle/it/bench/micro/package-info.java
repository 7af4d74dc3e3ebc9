/**
 * Small pieces of the plugin under JMH: what one call costs, apart from everything around it.
 *
 * <p>May use the plugin's public classes. {@code bin/bench micro} runs them; figures of one machine only compare with others of
 * the same.
 */
@NullMarked
package io.rdmashuffle.it.bench.micro;

import org.jspecify.annotations.NullMarked;
