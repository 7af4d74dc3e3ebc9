/**
 * The fabric that reads peers' memory by RDMA READ over reliable queue pairs.
 *
 * <p>One control thread makes and serves connections; data threads, one per port unless more are asked for, own the queue
 * pairs of this process's reads, post them and take their completions. A peer's regions are asked for by SEND and read by
 * READ; the peer's processor has no part in the latter. May use {@code fabric}, {@code memory} and {@code
 * io.rdmashuffle.verbs}; must never know Spark or another provider.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs;

import org.jspecify.annotations.NullMarked;
