// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the libfabric fabric.
 *
 * @param provider of libfabric, for example {@code efa}
 * @param devices names of the devices to use; empty for all that the provider offers, or for the one with the host's
 *     IP address if there is one
 * @param host address of this host; null if it is not known
 * @param connectTimeout time in which a peer must take a message, or it is gone
 * @param maxBytesInFlight bound on bytes of reads that are outstanding at once
 */
public record OfiSettings(
        String provider,
        List<String> devices,
        @Nullable InetAddress host,
        Duration connectTimeout,
        long maxBytesInFlight) {
    public OfiSettings {
        devices = List.copyOf(devices);
    }
}
