// SPDX-License-Identifier: Apache-2.0
/**
 * Start and end of the plugin's parts: the threads that they start, and what happens when a step fails.
 *
 * <p>May use the JDK only. Must never know what the threads do or what the resources are.
 */
@NullMarked
package io.rdmashuffle.lifecycle;

import org.jspecify.annotations.NullMarked;
