// SPDX-License-Identifier: Apache-2.0
/**
 * The one-sided ways to other executors: which fabric reaches which of them, what their directories say, and which
 * paths have failed. {@link io.rdmashuffle.peer.PeerPaths} takes the first fabric that reaches a peer, and forgets
 * peers that have left.
 *
 * <p>May use {@code directory}, {@code fabric}, {@code lifecycle}, {@code memory}, {@code memory.slice},
 * {@code registry}, {@code store}, {@code text} and SLF4J. Must never import Spark, know which fabrics there are but to
 * count their bytes, or report a shuffle as failed because a path did: Spark's block transfer is always left.
 */
@NullMarked
package io.rdmashuffle.peer;

import org.jspecify.annotations.NullMarked;
