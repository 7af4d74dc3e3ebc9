// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.disk.DiskTier;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Offers a fabric that does not come with this plugin: another network, or the model of one. Providers are found by
 * {@link java.util.ServiceLoader} beside the plugin's own jar; their fabrics are tried before the plugin's.
 *
 * <p><b>Threading:</b> asked once for each executor, on one thread.
 */
@FunctionalInterface
public interface FabricProvider {
    /**
     * Opens a fabric, which the caller closes; empty if it is not wanted or cannot be had here.
     *
     * @param settings Spark's configuration by key, null where a key is not set
     * @param maxBytesInFlight bound on bytes of reads that are outstanding at once
     * @param disk what peers may read beside memory; null if there is no disk tier
     */
    Optional<Fabric> open(Function<String, @Nullable String> settings, long maxBytesInFlight, @Nullable DiskTier disk);
}
