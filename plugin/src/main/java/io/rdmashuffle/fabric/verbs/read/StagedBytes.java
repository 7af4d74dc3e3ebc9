// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

/**
 * What a peer has staged for this process: bytes at an address, to be read in order and in time.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> the bytes are the peer's, who keeps them until they are released, the connection ends, or their
 * time is long over.
 */
final class StagedBytes {
    private final int id;
    private final int key;
    private final long deadline;
    private long address;
    private int left;
    private int endSequence;

    /**
     * Takes the place of an answer.
     *
     * @param id number of the question
     * @param deadline when the last READ of these bytes must have completed
     */
    StagedBytes(int id, long address, int key, int bytes, long deadline) {
        this.id = id;
        this.address = address;
        this.key = key;
        this.left = bytes;
        this.deadline = deadline;
    }

    int id() {
        return id;
    }

    int key() {
        return key;
    }

    /** Returns where the next bytes lie. */
    long address() {
        return address;
    }

    /** Returns how many bytes have not been posted. */
    int left() {
        return left;
    }

    /** Counts bytes as posted. */
    void advancePast(int bytes) {
        address += bytes;
        left -= bytes;
    }

    /** Notes that all READs are posted, with sequence numbers below this one. */
    void endBefore(int sequence) {
        endSequence = sequence;
    }

    /** Returns whether all READs have completed. */
    boolean isRead(Connection on) {
        return on.isCompletedUpTo(endSequence);
    }

    /** Returns whether the peer may have given the bytes to others. */
    boolean isLate(long now) {
        return now - deadline >= 0;
    }
}
