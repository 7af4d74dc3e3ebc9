/**
 * Writers, readers and the block resolver: Spark's shuffle written to and read from the pool.
 *
 * <p>May use Spark's types and all packages below it. Must never look things up in {@code SparkEnv}: whatever it needs
 * is handed to it by {@code io.rdmashuffle.spark}.
 */
@NullMarked
package io.rdmashuffle.shuffle;

import org.jspecify.annotations.NullMarked;
