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
                RDMA ports to use: `mlx5_0`, `mlx5_0:1`, or `mlx5_0:1:3` with a GID index, which on RoCE selects one of
                the port's IP addresses; the kernel chooses the RoCE version (`cma_roce_mode`). Comma-separated ports
                share the reads; at most 16. `auto` uses the fastest active port with an IP address, a routed one
                before a link-local one.
                """);
    public static final ConfigEntry<Duration> DEVICE_TIMEOUT = ConfigEntry.duration("fabric.verbs.deviceTimeout", "10s")
            .between("0ms", "5min")
            .doc("""
                Time that a starting executor waits for the ports named in `fabric.verbs.devices`; afterwards it does
                not use RDMA. In a container a device or its address may appear after the process. `auto` does not
                wait. A device that is lost later is used again when it returns.
                """);
    public static final ConfigEntry<Integer> THREADS = ConfigEntry.count("fabric.verbs.threads", "threads", "1")
            .between("1", "16")
            .doc("""
                Data threads per port, each with one queue pair per peer. One handles several hundred thousand reads
                per second; few queue pairs fit the cache of a network card better.
                """);
    public static final ConfigEntry<Duration> POLL_TIME = ConfigEntry.duration("fabric.verbs.pollTime", "20us")
            .between("0ms", "1h")
            .doc("""
                Time that a data thread polls for completions before it sleeps. The default is a few round trips. A
                large value uses a core for the lowest latency.
                """);
    public static final ConfigEntry<Integer> INITIATOR_DEPTH = ConfigEntry.count(
                    "fabric.verbs.initiatorDepth", "reads", "16")
            .between("1", "128")
            .doc("""
                Maximum of concurrent READs at the device per queue pair, lowered to the capability of both devices. 16
                reads of 64 KiB cover 100 Gb/s x 80 us. Not above `fabric.verbs.queueDepth`.
                """);
    public static final ConfigEntry<Integer> QUEUE_DEPTH = ConfigEntry.count("fabric.verbs.queueDepth", "reads", "128")
            .between("16", "4096")
            .doc("""
                Maximum of posted reads per queue pair, rounded down to a power of two and to the device's limit;
                further reads wait in memory.
                """);
    public static final ConfigEntry<Long> READ_SIZE =
            ConfigEntry.bytes("fabric.verbs.readSize", "1m").between("4k", "1g").doc("""
                Maximum length of a READ; longer reads are split, so that a large block does not delay small ones. 1m
                takes 84 us at 100 Gb/s. The port's limit also applies.
                """);
    public static final ConfigEntry<Integer> MTU = ConfigEntry.numberOr(
                    "fabric.verbs.mtu", "bytes", "auto", 256, 512, 1024, 2048, 4096)
            .doc("""
                Payload of a packet. `auto` uses the maximum of both ports and the path; set a smaller value only if a
                switch has one.
                """);
    public static final ConfigEntry<Integer> TRAFFIC_CLASS = ConfigEntry.count(
                    "fabric.verbs.trafficClass", "number", "0")
            .between("0", "255")
            .doc("""
                Traffic class of packets, on RoCE v2 the IP header's type of service: its upper six bits are the DSCP
                that switches map to a lossless queue. 106 is DSCP 26 with ECN allowed. 0 keeps the system's default.
                """);
    public static final ConfigEntry<Integer> SERVICE_LEVEL = ConfigEntry.count(
                    "fabric.verbs.serviceLevel", "number", "0")
            .between("0", "15")
            .doc("""
                InfiniBand service level, which the subnet manager maps to virtual lanes. 0 keeps the path's default.
                """);
    public static final ConfigEntry<Integer> ACK_TIMEOUT = ConfigEntry.count(
                    "fabric.verbs.ackTimeout", "exponent", "14")
            .between("1", "31")
            .doc("""
                An unacknowledged packet is resent after 4.096 us x 2^ackTimeout; 14 is 67 ms. With `retryCount` it
                determines when a dead link is detected: 14 and 7 take half a second to a few seconds, depending on the
                device.
                """);
    public static final ConfigEntry<Integer> RETRY_COUNT = ConfigEntry.count("fabric.verbs.retryCount", "retries", "7")
            .between("0", "7")
            .doc("""
                Number of resends of a packet before the queue pair fails; 3 bits on the wire.
                """);
    public static final ConfigEntry<Duration> CONNECT_TIMEOUT = ConfigEntry.duration(
                    "fabric.verbs.connectTimeout", "15s")
            .between("100ms", "5min")
            .doc("""
                Deadline of a connection attempt. At most 64 run at once, and the time starts with the attempt; waiting
                reads have `fabric.readTimeout`. Linux resends a lost request after 4.6 to 6.1 s, so 15s cover two
                losses. Not above `fabric.readTimeout`; the default is lowered to it.
                """);
    public static final ConfigEntry<Duration> IDLE_TIMEOUT = ConfigEntry.duration("fabric.verbs.idleTimeout", "5min")
            .between("0ms", "1d")
            .doc("""
                Idle time after which a reader closes a queue pair, up to an eighth later; the next read opens it again
                in some milliseconds. It uses memory and the cache of the network card at both ends. 0 keeps it until
                the peer ends.
                """);
    public static final ConfigEntry<Boolean> ON_DEMAND_PAGING =
            ConfigEntry.flag("fabric.verbs.onDemandPaging", "false").doc("""
                Register the pool without pinning it, if the device supports page faults: first accesses are slower,
                and no limit of locked memory applies. On other devices the pool is pinned.
                """);
    public static final ConfigEntry<Boolean> RELAXED_ORDERING =
            ConfigEntry.flag("fabric.verbs.relaxedOrdering", "true").doc("""
                Allow reordering of the device's accesses to the pool on the bus, which on some machines more than
                doubles the bandwidth of a card. Ignored if device, kernel or rdma-core do not support it.
                """);
    public static final ConfigEntry<Integer> COMPLETION_VECTOR = ConfigEntry.countOr(
                    "fabric.verbs.completionVector", "number", "auto")
            .between("auto", "4095")
            .doc("""
                Interrupt vector of an executor's first completion thread; further threads use the next ones. `auto`
                starts at a different one in each executor, so that executors of a host do not interrupt one core. See
                /proc/interrupts.
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
