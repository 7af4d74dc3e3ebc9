// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.OptionalInt;

/**
 * What a receive brought.
 *
 * @param lengthBytes bytes that arrived; for a write with immediate data, bytes written
 * @param immediate the 32 bits that the sender added, if it did
 */
public record ReceivedMessage(int lengthBytes, OptionalInt immediate) {}
