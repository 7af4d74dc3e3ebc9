// SPDX-License-Identifier: Apache-2.0
/**
 * Small jobs to submit, for the README and for trying things out.
 *
 * <p>May use Spark. Must never use the plugin: a job does not know which shuffle manager carries it.
 */
@NullMarked
package io.rdmashuffle.examples;

import org.jspecify.annotations.NullMarked;
