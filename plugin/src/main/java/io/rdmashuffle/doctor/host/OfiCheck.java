// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.OfiConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Check whether an executor would use libfabric on this machine: settings, library, devices, a read, locked memory.
 *
 * <p><b>Threading:</b> stateless.
 */
final class OfiCheck {
    private static final String CHECK = "libfabric";

    private OfiCheck() {}

    static List<Finding> run(Host host, Settings settings) {
        List<Finding> findings = new ArrayList<>();
        String provider = settings.config().get(OfiConfig.PROVIDER);
        if (provider.equals(OfiConfig.AUTO)) {
            provider = host.rdma().ofiProvider().orElse("");
        }
        if (provider.isEmpty()) {
            findings.add(Finding.wrong(
                    CHECK,
                    Effect.NO_RDMA,
                    "this machine has no device of AWS EFA or Slingshot",
                    "for another network set " + OfiConfig.PROVIDER.key()
                            + "; without one remove spark.shuffle.rdma.fabric.mode"));
            return findings;
        }
        if (settings.spark().isTrue("spark.authenticate", false)
                && !settings.config().get(OfiConfig.TRUST_NETWORK)) {
            findings.add(Finding.wrong(
                    CHECK,
                    Effect.NO_RDMA,
                    "spark.authenticate=true, and libfabric authenticates no reader",
                    "set " + OfiConfig.TRUST_NETWORK.key() + "=true if only trusted hosts reach the device"));
        }
        read(host, settings, provider, findings);
        for (String peer : settings.peers()) {
            findings.add(Finding.wrong(
                    CHECK,
                    Effect.LESS,
                    peer + " was not asked: libfabric cannot ask a host without an executor",
                    "run the cluster doctor, or fi_pingpong between the two"));
        }
        return findings;
    }

    private static void read(Host host, Settings settings, String provider, List<Finding> findings) {
        try {
            OfiLoopback.Result result =
                    host.rdma().readByOfi(provider, settings.config().ofiDevices());
            findings.add(Finding.ok(
                            CHECK,
                            "libfabric " + result.version() + ": reads over " + String.join(", ", result.devices())
                                    + " (" + provider + ") bring the right bytes")
                    .with("provider", provider)
                    .with("devices", result.devices()));
            findings.add(LockedMemoryCheck.run(host, settings, true, result.pinnings()));
        } catch (NativeException | IOException | RdmaUnavailableException | IllegalStateException e) {
            findings.add(Finding.wrong(
                            CHECK,
                            Effect.NO_RDMA,
                            "no read through libfabric (" + provider + "): " + e.getMessage(),
                            "see whether fi_info -p " + provider
                                    + " -t FI_EP_RDM lists the device for this user, in this"
                                    + " container; docs/libfabric.md has what must be installed")
                    .with("provider", provider));
        }
    }
}
