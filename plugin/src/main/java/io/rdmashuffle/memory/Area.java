// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

/** The parts of a region. Map outputs, of which there is always one more, take the first and no other. */
public enum Area {
    /** For everything, and most of a region. */
    OUTPUTS,
    /** For indexes and directory entries: they find room here when map outputs have filled the rest. */
    METADATA,
    /** Where bytes of the disk tier are brought for peers to read. */
    STAGING,
    /** Where bytes of peers find room then, in one piece. */
    READS
}
