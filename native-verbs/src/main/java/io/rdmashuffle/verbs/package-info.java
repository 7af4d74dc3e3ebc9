// SPDX-License-Identifier: Apache-2.0
/**
 * RDMA verbs as Java objects: devices, memory regions, queues, connections; nothing of Spark.
 *
 * <p>Every native object has one owner here: parents create children, closing a parent closes its children first,
 * closing twice is one close, and use after close throws where C would read freed memory. Calls that could block take a
 * timeout. Hot calls (post, poll) make no garbage. May use {@code io.rdmashuffle.ffi}; must never log, retry, or choose
 * a default that the caller cannot change.
 *
 * <p>Transports: InfiniBand, RoCE v1 and v2 and soft-RoCE through the same calls, connected by librdmacm or by what the
 * caller exchanges ({@link io.rdmashuffle.verbs.PairAddress}). iWARP devices can be asked and opened; their connections
 * take other steps, which callers of this package would have to take themselves.
 *
 * <p>Service: reliable connections (RC), and unreliable datagrams (UD) for first contact with many peers: one packet
 * each, which may be lost, without READ and WRITE. Receives can be shared by many queue pairs ({@link
 * io.rdmashuffle.verbs.SharedReceiveQueue}).
 */
@NullMarked
package io.rdmashuffle.verbs;

import org.jspecify.annotations.NullMarked;
