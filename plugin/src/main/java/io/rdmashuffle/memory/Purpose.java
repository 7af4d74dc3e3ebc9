// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.List;

/** Purpose of a lease: the pool accounts by it and decides by it where the lease may lie; the leak report names it. */
public enum Purpose {
    /** Directory of this executor's map outputs. */
    DIRECTORY,
    /** Offsets and checksums of one map output. */
    INDEX,
    /** Data of one map output. */
    MAP_OUTPUT,
    /** Landing place of a read from a peer. */
    RECEIVE,
    /** Bytes of the disk tier while a peer reads them. */
    STAGING;

    private static final List<Area> FOR_OUTPUTS = List.of(Area.OUTPUTS);
    private static final List<Area> FOR_METADATA = List.of(Area.METADATA, Area.OUTPUTS);
    private static final List<Area> FOR_READS = List.of(Area.READS, Area.OUTPUTS);

    /** Not where reads land: owners that wait for room to stage would wait for one another's reads. */
    private static final List<Area> FOR_STAGING = List.of(Area.STAGING, Area.OUTPUTS);

    /** Returns the areas for leases, best first. */
    List<Area> areas() {
        return switch (this) {
            case MAP_OUTPUT -> FOR_OUTPUTS;
            case DIRECTORY, INDEX -> FOR_METADATA;
            case RECEIVE -> FOR_READS;
            case STAGING -> FOR_STAGING;
        };
    }
}
