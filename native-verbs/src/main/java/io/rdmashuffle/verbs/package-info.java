/**
 * RDMA verbs as Java objects: devices, memory regions, queues, connections; nothing of Spark.
 *
 * <p>Every native object has one owner here: parents create children, closing a parent closes its children first, closing
 * twice is one close, and use after close throws where C would read freed memory. Calls that could block take a deadline.
 * Hot calls (post, poll) make no garbage. May use {@code io.rdmashuffle.ffi}; must never log, retry, or choose a default
 * that the caller cannot change.
 */
@NullMarked
package io.rdmashuffle.verbs;

import org.jspecify.annotations.NullMarked;
