// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.List;

/**
 * The keys under {@code spark.shuffle.rdma.fabric.tcp}; their values are read with {@link ShuffleConfig#get}.
 *
 * <p><b>Threading:</b> constants.
 */
public final class TcpConfig {
    public static final ConfigEntry<Integer> PORT = ConfigEntry.count("fabric.tcp.port", "port", "0")
            .between("0", "65535")
            .doc("""
                Port on which an executor listens for one-sided reads over TCP. 0 uses any free port. If the port is in
                use, the next `spark.port.maxRetries` ports are tried; firewalls and network policies must allow all of
                them between executors. The executor listens on the address that Spark's block transfer announces, or
                on all addresses if that is not one of the host's.
                """);
    public static final ConfigEntry<Integer> THREADS = ConfigEntry.count("fabric.tcp.threads", "threads", "1")
            .between("1", "16")
            .doc("""
                Threads of an executor that read over TCP, each with one connection per peer, and as many that serve
                peers. Lookups have another connection per peer while blocks arrive. One thread of each moved 1.3 to 3.7
                GB/s over the loopback device of a machine with 2 cores.
                """);
    public static final ConfigEntry<Duration> CONNECT_TIMEOUT = ConfigEntry.duration("fabric.tcp.connectTimeout", "5s")
            .between("100ms", "5min")
            .doc("""
                Deadline of a connection attempt. Linux resends a lost request after 1, 3 and 7 s. Not above
                `fabric.readTimeout`; the default is lowered to it.
                """);
    public static final ConfigEntry<Duration> IDLE_TIMEOUT = ConfigEntry.duration("fabric.tcp.idleTimeout", "5min")
            .between("0ms", "1d")
            .doc("""
                Idle time after which a connection is closed; the next read opens it again. 0 keeps it until the peer
                ends.
                """);

    static final List<ConfigEntry<?>> ENTRIES = List.of(PORT, THREADS, CONNECT_TIMEOUT, IDLE_TIMEOUT);

    private TcpConfig() {}
}
