// SPDX-License-Identifier: Apache-2.0
/**
 * Formats of records in a block: Spark SQL's rows and serialised records, bare or in compressed frames.
 *
 * <p>May use {@code directory}, {@code lifecycle}, {@code memory.slice}, {@code shuffle}, {@code store} and Spark.
 * Must never know where records wait before they are written, or where a block comes from.
 */
@NullMarked
package io.rdmashuffle.shuffle.format;

import org.jspecify.annotations.NullMarked;
