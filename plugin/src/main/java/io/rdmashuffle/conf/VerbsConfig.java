// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.List;

/**
 * The keys under {@code spark.shuffle.rdma.fabric.verbs}; their values are read with {@link ShuffleConfig#get}.
 *
 * <p><b>Threading:</b> constants.
 */
public final class VerbsConfig {
    public static final ConfigEntry<String> DEVICES =
            ConfigEntry.ports("fabric.verbs.devices", "auto").doc("""
                Which ports of which RDMA devices to use: `mlx5_0`, `mlx5_0:1`, or `mlx5_0:1:3` with the index of a
                global identifier (GID), which on RoCE stands for one of the port's IP addresses; the version of RoCE is
                the kernel's choice (`cma_roce_mode`). Several, apart by commas, share the reads; at most 16. `auto`
                takes the fastest active port that has an IP address, one that is routed before a link-local one.
                """);
    public static final ConfigEntry<Duration> DEVICE_TIMEOUT = ConfigEntry.duration("fabric.verbs.deviceTimeout", "10s")
            .between("0ms", "5min")
            .doc("""
                How long an executor that starts waits for the ports that `fabric.verbs.devices` names, before it goes
                on without RDMA until it ends: in a container a device or its address may come after the process. What
                `auto` takes is not waited for. A device that is lost later is used again whenever it comes back.
                """);
    public static final ConfigEntry<Integer> THREADS = ConfigEntry.count("fabric.verbs.threads", "threads", "1")
            .between("1", "16")
            .doc("""
                Data threads for each port, each with one queue pair to each peer. One posts and takes several hundred
                thousand reads a second; few queue pairs fit the network card's cache better than many.
                """);
    public static final ConfigEntry<Duration> POLL_TIME = ConfigEntry.duration("fabric.verbs.pollTime", "20us")
            .between("0ms", "1h")
            .doc("""
                How long a data thread looks for completions after the last one before it sleeps. The default is a few
                round trips. A large value burns a core for the lowest delay.
                """);
    public static final ConfigEntry<Integer> INITIATOR_DEPTH = ConfigEntry.count(
                    "fabric.verbs.initiatorDepth", "reads", "16")
            .between("1", "128")
            .doc("""
                Most reads that the device has under way on one queue pair, lowered to what both devices can do. 16
                reads of 64 KiB cover 100 Gb/s x 80 us. Not above `fabric.verbs.queueDepth`.
                """);
    public static final ConfigEntry<Integer> QUEUE_DEPTH = ConfigEntry.count("fabric.verbs.queueDepth", "reads", "128")
            .between("16", "4096")
            .doc("""
                Most reads posted on one queue pair, rounded down to a power of two and to what the device can do; more
                wait in memory.
                """);
    public static final ConfigEntry<Long> READ_SIZE =
            ConfigEntry.bytes("fabric.verbs.readSize", "1m").between("4k", "1g").doc("""
                Longest single read; longer ones are split, so that a large block does not hold up small ones. 1m takes
                84 us at 100 Gb/s. The port's own limit holds too.
                """);
    public static final ConfigEntry<Integer> MTU = ConfigEntry.numberOr(
                    "fabric.verbs.mtu", "bytes", "auto", 256, 512, 1024, 2048, 4096)
            .doc("""
                Payload of one packet. `auto` is what both ports and the path allow; a smaller value helps only where a
                switch on the way is set smaller.
                """);
    public static final ConfigEntry<Integer> TRAFFIC_CLASS = ConfigEntry.count(
                    "fabric.verbs.trafficClass", "number", "0")
            .between("0", "255")
            .doc("""
                Traffic class of packets, on RoCE v2 the IP header's type of service: its upper six bits are the DSCP
                that switches map to a lossless queue. 106, for example, is DSCP 26 with ECN allowed. 0 leaves the
                system's own.
                """);
    public static final ConfigEntry<Integer> SERVICE_LEVEL = ConfigEntry.count(
                    "fabric.verbs.serviceLevel", "number", "0")
            .between("0", "15")
            .doc("""
                InfiniBand service level, which the subnet manager maps to virtual lanes. 0 leaves the path's own.
                """);
    public static final ConfigEntry<Integer> ACK_TIMEOUT = ConfigEntry.count(
                    "fabric.verbs.ackTimeout", "exponent", "14")
            .between("1", "31")
            .doc("""
                A packet without an answer is sent again after 4.096 us x 2^ackTimeout; 14 is 67 ms. With `retryCount`
                it decides how soon a dead link is noticed: 14 and 7 take about half a second to a few seconds, by
                device.
                """);
    public static final ConfigEntry<Integer> RETRY_COUNT = ConfigEntry.count("fabric.verbs.retryCount", "retries", "7")
            .between("0", "7")
            .doc("""
                How often a packet is sent again before the queue pair gives up; 3 bits on the wire.
                """);
    public static final ConfigEntry<Duration> CONNECT_TIMEOUT = ConfigEntry.duration(
                    "fabric.verbs.connectTimeout", "15s")
            .between("100ms", "5min")
            .doc("""
                Deadline of one attempt to connect a queue pair. At most 64 are under way at once, and it counts from
                when one's turn has come; reads that wait keep their own, `fabric.readTimeout`. Linux sends a lost
                request again after 4.6 to 6.1 s, so 15s outlast two. Not above `fabric.readTimeout`; the default is
                lowered to it.
                """);
    public static final ConfigEntry<Duration> IDLE_TIMEOUT = ConfigEntry.duration("fabric.verbs.idleTimeout", "5min")
            .between("0ms", "1d")
            .doc("""
                A queue pair through which nothing was read for so long, or up to an eighth longer, is closed by its
                reader, and opened again by the next read. It takes memory and a place in the network card's cache at
                both ends; opening one takes some milliseconds. 0 keeps it until the peer is gone.
                """);
    public static final ConfigEntry<Boolean> ON_DEMAND_PAGING =
            ConfigEntry.flag("fabric.verbs.onDemandPaging", "false").doc("""
                Register the pool without pinning it, where the device can take page faults; slower on first use, and no
                limit of locked memory applies. Where it cannot, the pool is pinned, and the limit does.
                """);
    public static final ConfigEntry<Boolean> RELAXED_ORDERING =
            ConfigEntry.flag("fabric.verbs.relaxedOrdering", "true").doc("""
                Let the device's accesses to the pool pass one another on the bus, which on some machines more than
                doubles what a card can move. Only asked for; ignored where device, kernel or rdma-core do not know it.
                """);
    public static final ConfigEntry<Integer> COMPLETION_VECTOR = ConfigEntry.countOr(
                    "fabric.verbs.completionVector", "number", "auto")
            .between("auto", "4095")
            .doc("""
                Which of the device's interrupts wakes the first thread of an executor that waits for completions; the
                next thread has the next one, round and round. `auto` begins at another one in each executor, so that
                the executors of a host do not interrupt one core. /proc/interrupts tells which core serves which.
                """);

    static final List<ConfigEntry<?>> ENTRIES = List.of(
            DEVICES,
            DEVICE_TIMEOUT,
            THREADS,
            POLL_TIME,
            INITIATOR_DEPTH,
            QUEUE_DEPTH,
            READ_SIZE,
            MTU,
            TRAFFIC_CLASS,
            SERVICE_LEVEL,
            ACK_TIMEOUT,
            RETRY_COUNT,
            CONNECT_TIMEOUT,
            IDLE_TIMEOUT,
            ON_DEMAND_PAGING,
            RELAXED_ORDERING,
            COMPLETION_VECTOR);

    private VerbsConfig() {}
}
