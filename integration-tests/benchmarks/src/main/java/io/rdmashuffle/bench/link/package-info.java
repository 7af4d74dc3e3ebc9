// SPDX-License-Identifier: Apache-2.0
/**
 * Model of a network: a fabric whose reads take as long as over a given link. It copies bytes of executors of the same
 * host, on a separate thread whose CPU time is measured.
 *
 * <p>May use the plugin. Must never be faster than the link that it models.
 */
@NullMarked
package io.rdmashuffle.bench.link;

import org.jspecify.annotations.NullMarked;
