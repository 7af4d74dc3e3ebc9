// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static io.rdmashuffle.store.ShuffleCounter.Kind.GAUGE;
import static io.rdmashuffle.store.ShuffleCounter.Kind.PEAK;
import static io.rdmashuffle.store.ShuffleCounter.Kind.TOTAL;

import io.rdmashuffle.text.Quantities;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What every executor counts and the driver can add up; the names appear in metrics, events, the demo and tests. {@code
 * docs/metrics.md} is generated from this list.
 */
public enum ShuffleCounter {
    LOCAL_BYTES("local", TOTAL, "Shuffle bytes that tasks read from their own executor's pool."),
    SHM_BYTES("shm", TOTAL, "Shuffle bytes read from the pool of a peer on the same host through shared memory."),
    VERBS_BYTES("verbs", TOTAL, "Shuffle bytes read from a peer's pool by RDMA READ."),
    TCP_BYTES("tcp", TOTAL, "Shuffle bytes read from a peer's pool over TCP, without Spark's block transfer."),
    DIRECT_BYTES(
            "direct",
            TOTAL,
            "Of all these, bytes of direct shuffles that tasks read from pools themselves, without Spark's fetch and"
                    + " streams."),
    DISK_READ_BYTES("diskRead", TOTAL, "Of all these, bytes that tasks read themselves and that lay in the disk tier."),
    FETCH_BATCH_BYTES("fetchBatch", TOTAL, "Bytes copied from peers' pools in batches of blocks, ahead of tasks."),
    FETCH_BATCHES("fetchBatches", TOTAL, "Batches of blocks copied from peers' pools."),
    INDEX_READS("indexReads", TOTAL, "Indexes of peers' map outputs, or parts of them, that were read by copying."),
    READS("reads", TOTAL, "Pieces of peers' memory that devices were told to read: RDMA READs."),
    DOORBELLS("doorbells", TOTAL, "Calls by which they were told, each with one or more READs or a message."),
    COMPLETIONS("completions", TOTAL, "Completions that devices have reported."),
    WAKE_UPS("wakeUps", TOTAL, "How often a thread that waited for them was woken."),
    LANES(
            "lanes",
            TOTAL,
            "Threads that have told devices to read: `fabric.verbs.threads` for each port once all have had reads, and"
                    + " as many more each time that a port has come back."),
    NETTY_BYTES("netty", TOTAL, "Shuffle bytes that a peer served from its pool through Spark's block transfer."),
    FILE_BYTES("file", TOTAL, "Shuffle bytes that lay in ordinary shuffle files, wherever those files are."),
    POOL_USED_BYTES(
            "poolUsed",
            GAUGE,
            "Bytes of the pool that shuffles hold; the directory's own tables, there until it stops, are not counted."),
    POOL_PEAK_BYTES(
            "poolPeak", PEAK, "Most bytes of the pool that were ever leased at once, the directory's table included."),
    POOL_CAPACITY_BYTES("poolCapacity", GAUGE, "Bytes of all regions of the pool that exist."),
    POOL_WAIT_MILLIS(
            "poolWaitMillis",
            TOTAL,
            "Milliseconds that tasks and others have waited for room in the pool, all of them together."),
    DISK_USED_BYTES("diskUsed", GAUGE, "Bytes of the disk tier that shuffles hold."),
    DISK_PEAK_BYTES("diskPeak", PEAK, "Most bytes of the disk tier that were ever leased at once."),
    POOL_LEASES("poolLeases", GAUGE, "Leases of both tiers that shuffles hold."),
    REGION_REGISTRATIONS("regionRegistrations", TOTAL, "Regions registered with fabrics."),
    PEER_MAPPINGS("peerMappings", GAUGE, "Regions of peers that are mapped or otherwise held open."),
    MAP_OUTPUTS_POOLED("mapOutputsPooled", TOTAL, "Map outputs written to the pool."),
    MAP_OUTPUTS_ON_DISK("mapOutputsOnDisk", TOTAL, "Of those, map outputs of which some was written to the disk tier."),
    MAP_OUTPUTS_DEMOTED("mapOutputsDemoted", TOTAL, "Map outputs that were moved from memory to the disk tier."),
    DEMOTED_BYTES("demoted", TOTAL, "Bytes of memory that their data took."),
    MAP_OUTPUTS_FILED("mapOutputsFiled", TOTAL, "Map outputs written as ordinary shuffle files."),
    MAP_OUTPUTS_MIGRATED(
            "mapOutputsMigrated",
            TOTAL,
            "Map outputs taken over from executors that were decommissioned, into the pool or as files."),
    POOL_FULL(
            "poolFull",
            TOTAL,
            "Requests of map outputs for memory that the pool, at its cap, had no room for in one piece."),
    POOL_CAP_BYTES(
            "poolCap",
            GAUGE,
            "Most that the pool's capacity may come to: `pool.maxSize`, or what there is where the pool could not grow"
                    + " when it tried last."),
    POOL_FILES_REMOVED(
            "poolFilesRemoved",
            TOTAL,
            "Files of the pool that another program removed while the executor used them, as logind does at logout"
                    + " (`RemoveIPC`)."),
    POOL_DIRECTORY_BYTES(
            "poolDirectory", GAUGE, "Bytes of the pool leased to the directory of map outputs, its tables included."),
    POOL_INDEX_BYTES("poolIndex", GAUGE, "Bytes of the pool leased to indexes of map outputs."),
    POOL_MAP_OUTPUT_BYTES("poolMapOutput", GAUGE, "Bytes of the pool leased to data of map outputs."),
    POOL_RECEIVE_BYTES("poolReceive", GAUGE, "Bytes of the pool leased to reads that land there."),
    POOL_STAGING_BYTES(
            "poolStaging", GAUGE, "Bytes of the pool leased to bytes of the disk tier while peers read them."),
    READS_IN_FLIGHT("readsInFlight", GAUGE, "Requests to peers' memory over RDMA or TCP that have not ended."),
    IN_FLIGHT_BYTES(
            "inFlight", GAUGE, "Bytes of peers' memory that are being copied, over RDMA, TCP or shared memory."),
    READ_MEGABITS(
            "readMegabits",
            GAUGE,
            "Mb/s that reads over TCP or RDMA bring while any is in flight, of late; 0 until enough has been read to"
                    + " tell. By it and the number of cores the driver decides which shuffles to compress."),
    READS_RETRIED("readsRetried", TOTAL, "Requests over RDMA or TCP that started again on another connection."),
    READS_FAILED(
            "readsFailed", TOTAL, "Requests over RDMA or TCP that failed for good; Spark's block transfer took over."),
    CONNECTIONS("connections", GAUGE, "Connections over RDMA or TCP that this executor reads through."),
    CONNECTIONS_OPENED("connectionsOpened", TOTAL, "Connections over RDMA or TCP that were opened to read through."),
    CONNECTIONS_LOST(
            "connectionsLost", TOTAL, "Connections over RDMA or TCP that were given up after an error or a deadline."),
    PEERS_QUARANTINED(
            "peersQuarantined", GAUGE, "Peers with a path that failed and is not used for `peer.quarantine`."),
    QUARANTINES("quarantines", TOTAL, "How often a path to a peer was given up for that time."),
    CHECKSUM_FAILURES(
            "checksumFailures",
            TOTAL,
            "Blocks whose bytes did not have their checksum when they were read or served; they were read again in"
                    + " another way, or their task ran again.");

    /** How a counter behaves over time, and what a sum over executors means. */
    public enum Kind {
        /** Since the start; only rises. */
        TOTAL("total"),
        /** As it is now. */
        GAUGE("now"),
        /** Highest value ever; the sum of several is at least the highest value of their sum. */
        PEAK("peak");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /** Returns how documentation calls it. */
        public String word() {
            return word;
        }
    }

    private final String label;
    private final Kind kind;
    private final String meaning;

    ShuffleCounter(String label, Kind kind, String meaning) {
        this.label = label;
        this.kind = kind;
        this.meaning = meaning;
    }

    /** Returns the short name, in lower camel case, that events and JSON use. */
    public String label() {
        return label;
    }

    /** Returns the name of the metric: the label, with the unit of those that count bytes. */
    public String metric() {
        return isBytes() ? label + "Bytes" : label;
    }

    /** Returns how it behaves over time. */
    public Kind kind() {
        return kind;
    }

    /** Returns what is counted, for the reader of documentation. */
    public String meaning() {
        return meaning;
    }

    /** Returns what it is counted in. */
    public String unit() {
        if (isBytes()) {
            return "bytes";
        }
        return name().endsWith("_MILLIS") ? "ms" : "count";
    }

    /** Returns counters with their values on one line, as logs show them. */
    public static String format(Map<ShuffleCounter, Long> values) {
        return values.entrySet().stream()
                .map(entry -> entry.getKey().label() + " " + entry.getKey().format(entry.getValue()))
                .collect(Collectors.joining(", "));
    }

    /** Returns a value of this counter for a log: bytes in MiB, everything else as it is. */
    public String format(long value) {
        return isBytes() && value != 0 ? Quantities.mebibytes(value) : Long.toString(value);
    }

    private boolean isBytes() {
        return name().endsWith("_BYTES");
    }
}
