// SPDX-License-Identifier: Apache-2.0
/**
 * The model of a network: a fabric whose reads take as long as a stated link would take for them. It brings bytes of
 * executors of the same host, by copying, on a thread of its own whose processor time can be told apart.
 *
 * <p>May use the plugin. Must never be faster than the link that it models.
 */
@NullMarked
package io.rdmashuffle.bench.link;

import org.jspecify.annotations.NullMarked;
