// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.List;

/**
 * The keys under {@code spark.shuffle.rdma.fabric.ofi}; their values are read with {@link ShuffleConfig#get}.
 *
 * <p><b>Threading:</b> constants.
 */
public final class OfiConfig {
    /** The provider of the host's devices; all devices. */
    public static final String AUTO = "auto";

    public static final ConfigEntry<String> PROVIDER =
            ConfigEntry.names("fabric.ofi.provider", AUTO).doc("""
            Provider of libfabric: `efa` (AWS), `cxi` (Slingshot), or another one with reliable datagrams and remote
            reads, for example `tcp;ofi_rxm`. `auto` is `efa` or `cxi`, as the host's devices are. All executors must
            use the same.
            """);
    public static final ConfigEntry<String> DEVICES =
            ConfigEntry.names("fabric.ofi.devices", AUTO).doc("""
            Devices to use, as `fi_info` names their domains. Comma-separated devices share the reads. `auto` uses all
            that the provider offers, or only the one with the host's IP address if there is one.
            """);
    public static final ConfigEntry<Boolean> TRUST_NETWORK =
            ConfigEntry.flag("fabric.ofi.trustNetwork", "false").doc("""
                Use libfabric although `spark.authenticate=true`: it authenticates no reader. Whoever can send to the
                device, and asks an executor for a key, reads its map outputs.
                """);
    public static final ConfigEntry<Duration> CONNECT_TIMEOUT = ConfigEntry.duration("fabric.ofi.connectTimeout", "5s")
            .between("100ms", "5min")
            .doc("""
                Time in which a peer must accept a message; afterwards it counts as gone. Not above
                `fabric.readTimeout`; the default is lowered to it.
                """);

    static final List<ConfigEntry<?>> ENTRIES = List.of(PROVIDER, DEVICES, TRUST_NETWORK, CONNECT_TIMEOUT);

    private OfiConfig() {}
}
