// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.text.Quantities;

/** What every executor counts and the driver can add up; the names appear in metrics, the demo and tests. */
public enum ShuffleCounter {
    /** Shuffle bytes that tasks read from their own executor's pool. */
    LOCAL_BYTES("local"),
    /** Shuffle bytes read from the pool of a peer on the same host through shared memory. */
    SHM_BYTES("shm"),
    /** Shuffle bytes read from a peer's pool by RDMA READ. */
    VERBS_BYTES("verbs"),
    /** Shuffle bytes of direct shuffles that tasks read from pools themselves, without Spark's fetch and streams. */
    DIRECT_BYTES("direct"),
    /** Shuffle bytes that tasks read from pools themselves, and that lay in the disk tier. */
    DISK_READ_BYTES("diskRead"),
    /** Bytes that were copied from peers' pools in slabs, ahead of tasks. */
    SLAB_BYTES("slab"),
    /** Those slabs. */
    SLABS("slabs"),
    /** Indexes of peers' map outputs, or parts of them, that were read by copying since the start. */
    INDEX_READS("indexReads"),
    /** Pieces of peers' memory that devices were told to read since the start: RDMA READs. */
    READS("reads"),
    /** Calls by which they were told, each with one or more READs or a message. */
    DOORBELLS("doorbells"),
    /** Completions that devices have reported. */
    COMPLETIONS("completions"),
    /** How often a thread that waited for them was woken, or looked again. */
    WAKE_UPS("wakeUps"),
    /**
     * Threads that have told devices to read: {@code fabric.verbs.threads} for each port once all have had reads, and
     * as many more each time that a port has come back.
     */
    LANES("lanes"),
    /** Shuffle bytes that a peer served from its pool through Spark's block transfer. */
    NETTY_BYTES("netty"),
    /** Shuffle bytes that lay in ordinary shuffle files, wherever those files are. */
    FILE_BYTES("file"),
    /**
     * Bytes of the pool that shuffles hold now; the directory's own tables, there until it stops, are not counted.
     */
    POOL_USED_BYTES("poolUsed"),
    /** Most bytes of the pool that were ever leased at once, the directory's table included. */
    POOL_PEAK_BYTES("poolPeak"),
    /** Bytes of all regions of the pool that exist now. */
    POOL_CAPACITY_BYTES("poolCapacity"),
    /** Milliseconds that tasks and others have waited for room in the pool since the start, all of them together. */
    POOL_WAIT_MILLIS("poolWaitMillis"),
    /** Bytes of the disk tier that shuffles hold now. */
    DISK_USED_BYTES("diskUsed"),
    /** Most bytes of the disk tier that were ever leased at once. */
    DISK_PEAK_BYTES("diskPeak"),
    /** Leases of both tiers that shuffles hold now. */
    POOL_LEASES("poolLeases"),
    /** Regions registered with fabrics since the start. */
    REGION_REGISTRATIONS("regionRegistrations"),
    /** Regions of peers that are mapped or otherwise held open now. */
    PEER_MAPPINGS("peerMappings"),
    /** Map outputs written to the pool since the start. */
    MAP_OUTPUTS_POOLED("mapOutputsPooled"),
    /** Of those, map outputs of which some lies in the disk tier. */
    MAP_OUTPUTS_ON_DISK("mapOutputsOnDisk"),
    /** Map outputs that were moved from memory to the disk tier since the start. */
    MAP_OUTPUTS_DEMOTED("mapOutputsDemoted"),
    /** Bytes of memory that their data took. */
    DEMOTED_BYTES("demoted"),
    /** Map outputs written as ordinary shuffle files since the start. */
    MAP_OUTPUTS_FILED("mapOutputsFiled"),
    /** Map outputs taken over from executors that were decommissioned, into the pool or as files, since the start. */
    MAP_OUTPUTS_MIGRATED("mapOutputsMigrated");

    private final String label;

    ShuffleCounter(String label) {
        this.label = label;
    }

    /** Returns the short name, in lower camel case, that metrics and JSON use. */
    public String label() {
        return label;
    }

    /** Returns a value of this counter for a log: bytes in MiB, everything else as it is. */
    public String format(long value) {
        return name().endsWith("_BYTES") && value != 0 ? Quantities.mebibytes(value) : Long.toString(value);
    }
}
