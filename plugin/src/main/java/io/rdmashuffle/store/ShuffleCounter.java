// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static io.rdmashuffle.store.ShuffleCounter.Kind.GAUGE;
import static io.rdmashuffle.store.ShuffleCounter.Kind.PEAK;
import static io.rdmashuffle.store.ShuffleCounter.Kind.TOTAL;

import io.rdmashuffle.text.Quantities;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Counters of every executor, summed by the driver; the names appear in metrics, events, the demo and tests.
 * {@code docs/metrics.md} is generated from this list.
 */
public enum ShuffleCounter {
    LOCAL_BYTES("local", TOTAL, "Shuffle bytes that tasks read from their own executor's pool."),
    SHM_BYTES("shm", TOTAL, "Shuffle bytes read from a peer on the same host: from its pool or its disk tier."),
    VERBS_BYTES("verbs", TOTAL, "Shuffle bytes read from a peer's pool by RDMA READ, also through libfabric."),
    TCP_BYTES("tcp", TOTAL, "Shuffle bytes read from a peer's pool over TCP, without Spark's block transfer."),
    DIRECT_BYTES(
            "direct",
            TOTAL,
            "Of all these, bytes of direct shuffles that tasks read from pools themselves, without Spark's fetch and"
                    + " streams."),
    DISK_READ_BYTES("diskRead", TOTAL, "Of all these, bytes that tasks read themselves from the disk tier."),
    FETCH_BATCH_BYTES("fetchBatch", TOTAL, "Bytes copied from peers' pools in batches of blocks, ahead of tasks."),
    FETCH_BATCHES("fetchBatches", TOTAL, "Batches of blocks copied from peers' pools."),
    INDEX_READS("indexReads", TOTAL, "Indexes of peers' map outputs, or parts of them, that were read by copying."),
    READS("reads", TOTAL, "RDMA READs posted."),
    DOORBELLS("doorbells", TOTAL, "Doorbells, each for one or more READs or a message."),
    COMPLETIONS("completions", TOTAL, "Completions reported by devices."),
    WAKE_UPS("wakeUps", TOTAL, "Wake-ups of threads that waited for completions."),
    LANES(
            "lanes",
            TOTAL,
            "Data threads that have posted READs: `fabric.verbs.threads` per port once all have had reads, and as many"
                    + " more each time a port has returned."),
    NETTY_BYTES("netty", TOTAL, "Shuffle bytes that a peer served from its pool through Spark's block transfer."),
    FILE_BYTES("file", TOTAL, "Shuffle bytes read from shuffle files, local or remote."),
    POOL_USED_BYTES(
            "poolUsed", GAUGE, "Bytes of the pool that shuffles hold, without the directory's permanent tables."),
    POOL_PEAK_BYTES("poolPeak", PEAK, "Maximum of leased bytes of the pool, the directory's table included."),
    POOL_CAPACITY_BYTES("poolCapacity", GAUGE, "Bytes of all regions of the pool."),
    POOL_WAIT_MILLIS("poolWaitMillis", TOTAL, "Total milliseconds of waits for room in the pool."),
    DISK_USED_BYTES("diskUsed", GAUGE, "Bytes of the disk tier that shuffles hold."),
    DISK_PEAK_BYTES("diskPeak", PEAK, "Maximum of leased bytes of the disk tier."),
    POOL_LEASES("poolLeases", GAUGE, "Leases of both tiers that shuffles hold."),
    REGION_REGISTRATIONS("regionRegistrations", TOTAL, "Regions registered with fabrics."),
    PEER_MAPPINGS("peerMappings", GAUGE, "Regions of peers that are mapped or otherwise held open."),
    MAP_OUTPUTS_POOLED("mapOutputsPooled", TOTAL, "Map outputs written to the pool."),
    MAP_OUTPUTS_ON_DISK("mapOutputsOnDisk", TOTAL, "Of those, map outputs with bytes in the disk tier."),
    MAP_OUTPUTS_DEMOTED("mapOutputsDemoted", TOTAL, "Map outputs that were moved from memory to the disk tier."),
    DEMOTED_BYTES("demoted", TOTAL, "Bytes of their data."),
    MAP_OUTPUTS_FILED("mapOutputsFiled", TOTAL, "Map outputs written as shuffle files."),
    MAP_OUTPUTS_COPIED(
            "mapOutputsCopied",
            TOTAL,
            "Map outputs in the pool that were also copied to shuffle files, for the external shuffle service."),
    MAP_OUTPUTS_MIGRATED(
            "mapOutputsMigrated",
            TOTAL,
            "Map outputs received from decommissioned executors, in the pool or as files."),
    POOL_FULL("poolFull", TOTAL, "Requests of map outputs that did not fit contiguously in the pool at its limit."),
    POOL_CAP_BYTES(
            "poolCap",
            GAUGE,
            "Limit of the pool's capacity: `pool.maxSize`, or the current size if the pool could not grow at the last"
                    + " attempt."),
    POOL_FILES_REMOVED(
            "poolFilesRemoved",
            TOTAL,
            "Files of the pool that another program removed while the executor used them, as logind does at logout"
                    + " (`RemoveIPC`)."),
    POOL_DIRECTORY_BYTES(
            "poolDirectory", GAUGE, "Bytes of the pool leased to the directory of map outputs, its tables included."),
    POOL_INDEX_BYTES("poolIndex", GAUGE, "Bytes of the pool leased to indexes of map outputs."),
    POOL_MAP_OUTPUT_BYTES("poolMapOutput", GAUGE, "Bytes of the pool leased to data of map outputs."),
    POOL_RECEIVE_BYTES("poolReceive", GAUGE, "Bytes of the pool leased as targets of reads."),
    POOL_STAGING_BYTES("poolStaging", GAUGE, "Bytes of the pool leased for staging of the disk tier."),
    READS_IN_FLIGHT("readsInFlight", GAUGE, "Outstanding reads over RDMA or TCP."),
    IN_FLIGHT_BYTES("inFlight", GAUGE, "Bytes being copied from peers, over RDMA, TCP or shared memory."),
    READ_MEGABITS(
            "readMegabits",
            GAUGE,
            "Recent Mb/s of reads over TCP or RDMA while any is in flight; 0 until enough has been read. The driver"
                    + " uses it, with the number of cores, to decide about compression."),
    SAMPLED_BYTES(
            "sampled",
            TOTAL,
            "Uncompressed bytes of the map outputs of which a part was compressed, to estimate what compression saves"
                    + " and takes."),
    SAMPLED_COMPRESSED_BYTES("sampledCompressed", TOTAL, "Estimate of their compressed bytes."),
    SAMPLED_NANOS("sampledNanos", TOTAL, "Estimate of the nanoseconds of the codec for them."),
    READS_RETRIED("readsRetried", TOTAL, "Reads over RDMA or TCP that were retried on another connection."),
    READS_FAILED("readsFailed", TOTAL, "Reads over RDMA or TCP that failed; Spark's block transfer served the blocks."),
    CONNECTIONS("connections", GAUGE, "Connections over RDMA or TCP for reads of this executor."),
    CONNECTIONS_OPENED("connectionsOpened", TOTAL, "Opened connections over RDMA or TCP for reads."),
    CONNECTIONS_LOST("connectionsLost", TOTAL, "Connections over RDMA or TCP closed after an error or a timeout."),
    POOLS_INHERITED(
            "poolsInherited",
            GAUGE,
            "Pools of ended executors that this executor serves to other hosts (`outlive.enabled`)."),
    PEERS_QUARANTINED("peersQuarantined", GAUGE, "Peers with a path in quarantine (`peer.quarantine`)."),
    QUARANTINES("quarantines", TOTAL, "Number of quarantines."),
    CHECKSUM_FAILURES(
            "checksumFailures",
            TOTAL,
            "Blocks with a wrong checksum when read or served; they were fetched over another path, or their task was"
                    + " repeated.");

    /** Behaviour of a counter over time, and of its sum over executors. */
    public enum Kind {
        /** Since the start; never decreases. */
        TOTAL("total"),
        /** Current value. */
        GAUGE("now"),
        /** Highest value ever; the sum of several is at least the highest value of their sum. */
        PEAK("peak");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /** Returns the word for documentation. */
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

    /** Returns the name of the metric: the label, with the suffix {@code Bytes} if it counts bytes. */
    public String metric() {
        return isBytes() ? label + "Bytes" : label;
    }

    /** Returns its behaviour over time. */
    public Kind kind() {
        return kind;
    }

    /** Returns the description for the documentation. */
    public String meaning() {
        return meaning;
    }

    /** Returns the unit. */
    public String unit() {
        if (isBytes()) {
            return "bytes";
        }
        if (name().endsWith("_NANOS")) {
            return "ns";
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
