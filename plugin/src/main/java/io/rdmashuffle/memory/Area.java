// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/** The parts of a region. Map outputs, of which there is always one more, take the first and no other. */
public enum Area {
    /** For everything, and most of a region. */
    OUTPUTS,
    /** For indexes and directory entries: they find room here when map outputs have filled the rest. */
    METADATA,
    /** Staging area: bytes of the disk tier, for peers to read. */
    STAGING,
    /** Receiving area: bytes of peers, in one piece. */
    READS
}
