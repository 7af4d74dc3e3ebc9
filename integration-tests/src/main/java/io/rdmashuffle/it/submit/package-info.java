/**
 * {@code bin/submit}: spark-submit for a machine without a Spark installation, with the plugin on.
 *
 * <p>Knows spark-submit's options from Spark itself. Must never start the job: it writes the command that the script then
 * becomes.
 */
@NullMarked
package io.rdmashuffle.it.submit;

import org.jspecify.annotations.NullMarked;
