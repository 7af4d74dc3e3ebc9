// SPDX-License-Identifier: Apache-2.0
/**
 * RDMA as asynchronous operations that cannot crash the process: allocate, describe, connect, read, write, send,
 * receive.
 *
 * <p>Every operation is checked before it is posted and ends exactly once, with a result or with a reason; its memory
 * cannot be freed before that. An operation is a future, or {@linkplain io.rdmashuffle.verbs.async.PreparedOperation
 * prepared} once and posted any number of times without garbage. The progress threads of an
 * {@link io.rdmashuffle.verbs.async.RdmaEndpoint} drive all of them. May use {@code io.rdmashuffle.verbs} and
 * {@code io.rdmashuffle.ffi}; must never log, retry a work request, or tell of the end of an operation while the device
 * may still touch its memory. Where every microsecond counts use {@code io.rdmashuffle.verbs}, as the shuffle does.
 */
@NullMarked
package io.rdmashuffle.verbs.async;

import org.jspecify.annotations.NullMarked;
