// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.WorkCompletions;
import java.util.OptionalInt;

/**
 * Message of a completed receive.
 *
 * @param lengthBytes bytes that arrived; for a write with immediate data, bytes written
 * @param immediate the 32 bits that the sender added, if it did
 */
public record ReceivedMessage(int lengthBytes, OptionalInt immediate) {
    /** Reads what the completion of a receive says. */
    static ReceivedMessage of(WorkCompletions completions, int index) {
        return new ReceivedMessage(
                completions.lengthBytes(index),
                completions.hasImmediate(index) ? OptionalInt.of(completions.immediate(index)) : OptionalInt.empty());
    }
}
