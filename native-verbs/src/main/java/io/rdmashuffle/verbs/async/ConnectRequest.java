// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A peer's request for a connection, before anything was allocated for it.
 *
 * @param peer the peer's address as its device gave it, null if it gave none
 * @param privateData what the peer passed to {@link RdmaEndpoint#connect}, on InfiniBand and RoCE with zeros behind it
 *     up to 56 bytes
 */
@SuppressWarnings("ArrayRecordComponent") // a copy that belongs to the receiver
public record ConnectRequest(@Nullable InetSocketAddress peer, byte[] privateData) {}
