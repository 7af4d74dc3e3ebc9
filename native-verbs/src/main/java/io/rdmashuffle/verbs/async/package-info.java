// SPDX-License-Identifier: Apache-2.0
/**
 * RDMA as asynchronous operations that cannot crash the process: allocate, describe, connect, read, write, send,
 * receive.
 *
 * <p>Every operation is checked before it is posted and completes exactly once, with a result or with a reason; its
 * memory cannot be freed before that. The progress threads of an {@link io.rdmashuffle.verbs.async.RdmaEndpoint} drive
 * all of them. May use {@code io.rdmashuffle.verbs} and {@code io.rdmashuffle.ffi}; must never log, retry a work
 * request, or complete a future while the device may still touch the memory of its operation. Where every microsecond
 * counts use {@code io.rdmashuffle.verbs}, as the shuffle does.
 */
@NullMarked
package io.rdmashuffle.verbs.async;

import org.jspecify.annotations.NullMarked;
