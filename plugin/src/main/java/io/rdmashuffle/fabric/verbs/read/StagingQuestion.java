// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.verbs.device.StagingMessages;

/**
 * A staging question as it is written, range by range, into a connection's slot.
 *
 * <p><b>Threading:</b> the data thread.
 */
final class StagingQuestion {
    private final long target;
    private int ranges;
    private int bytes;

    /**
     * Starts without a range.
     *
     * @param target registered memory for the longest question
     */
    StagingQuestion(long target) {
        this.target = target;
    }

    boolean isEmpty() {
        return ranges == 0;
    }

    /** Returns whether nothing more fits. */
    boolean isFull() {
        return ranges == StagingMessages.MAX_RANGES || bytes == StagingMessages.MAX_BYTES;
    }

    int bytes() {
        return bytes;
    }

    /** Adds a range, or as much of it as fits. */
    void add(int regionId, long offset, long lengthBytes) {
        int length = (int) Math.min(lengthBytes, StagingMessages.MAX_BYTES - bytes);
        StagingMessages.writeRange(target, ranges, regionId, offset, length);
        ranges++;
        bytes += length;
    }

    /** Completes the question; returns its length. */
    int end(int id) {
        return StagingMessages.writeQuestion(target, id, ranges);
    }
}
