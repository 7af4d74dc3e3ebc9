// SPDX-License-Identifier: Apache-2.0
/**
 * Combining and sorting of few records of a task by key; Spark's own collections take over when they are more than
 * those would hold without asking for memory.
 *
 * <p>May use {@code spark.compat} and Spark. Must never hold more without Spark's task memory manager than Spark's
 * collections do, or give another result than they.
 */
@NullMarked
package io.rdmashuffle.shuffle.combine;

import org.jspecify.annotations.NullMarked;
