// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/submit}: spark-submit for a machine without a Spark installation, with the plugin on. Its options are
 * those of Spark's launcher.
 *
 * <p>May use {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, and Spark's launcher by reflection.
 * Must never start the job: it writes the command that the script then becomes.
 */
@NullMarked
package io.rdmashuffle.submit;

import org.jspecify.annotations.NullMarked;
