// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpSettings.Host;
import io.rdmashuffle.fabric.tcp.TcpSettings.Ports;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/** Settings of TCP fabrics for tests: on the loopback address, any port. */
final class TestTcp {
    static final String HOST = "127.0.0.1";

    private TestTcp() {}

    static TcpFabric fabric(long maxBytesInFlight) {
        return new TcpFabric(settings(1, maxBytesInFlight, Secret.NONE));
    }

    static TcpSettings settings(int threads, long maxBytesInFlight, Secret secret) {
        return new TcpSettings(
                () -> Host.of(HOST),
                Ports.ANY,
                threads,
                Duration.ofSeconds(30),
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                maxBytesInFlight,
                secret);
    }

    /** Returns the memory of direct buffers of this process. */
    static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }
}
