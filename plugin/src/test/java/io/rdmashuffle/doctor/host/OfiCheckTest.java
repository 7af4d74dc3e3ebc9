// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the libfabric checks: when they run, and each finding with its effect and remedy. */
@Tag("unit")
@Timeout(60)
class OfiCheckTest {
    private static final String CHECK = "libfabric";

    @TempDir
    Path root;

    private FakeHost host;

    /** A host on AWS: verbs see the device and cannot use it. */
    @BeforeEach
    void elasticFabricAdapter() {
        host = new FakeHost(root);
        host.rdma.refusal = "no device has an active port";
        host.rdma.ofiProvider = Optional.of("efa");
    }

    private void assertFound(Effect effect, String seen, String remedy) {
        Finding finding = host.worst(CHECK);
        assertThat(finding.effect()).as(finding.message()).isEqualTo(effect);
        assertThat(finding.message()).contains(seen);
        assertThat(finding.remedy()).contains(remedy);
    }

    @Test
    void libfabricStandsInWhereVerbsCannotBeUsed() {
        assertFound(Effect.NONE, "libfabric 2.1: reads over rdmap0s6-rdm (efa) bring the right bytes", "");
        assertThat(host.examine().rdma()).isTrue();
        assertThat(host.examine().exitCode()).isZero();
    }

    @Test
    void verbsGoFirst() {
        host.rdma.refusal = null;
        assertThat(host.examine().findings())
                .noneMatch(finding -> finding.check().equals(CHECK));
    }

    @Test
    void onlyVerbsAreLookedAtWhereTheyAreAskedFor() {
        host.settings.put("spark.shuffle.rdma.fabric.mode", "verbs");
        assertThat(host.examine().findings())
                .noneMatch(finding -> finding.check().equals(CHECK));
        assertThat(host.examine().rdma()).isFalse();
    }

    @Test
    void aLibraryThatIsMissingIsNamed() {
        host.rdma.ofiFailure = new RdmaUnavailableException("cannot load libfabric.so.1");
        assertFound(Effect.NO_RDMA, "cannot load libfabric.so.1", "fi_info -p efa");
    }

    @Test
    void authenticationRulesItOutUnlessTheNetworkIsTrusted() {
        host.settings.put("spark.authenticate", "true");
        assertFound(Effect.NO_RDMA, "authenticates no reader", "fabric.ofi.trustNetwork=true");
        host.settings.put("spark.shuffle.rdma.fabric.ofi.trustNetwork", "true");
        assertFound(Effect.NONE, "bring the right bytes", "");
    }

    @Test
    void theModeWithoutADeviceAsksForAProvider() {
        host.rdma.ofiProvider = Optional.empty();
        host.settings.put("spark.shuffle.rdma.fabric.mode", "ofi");
        assertFound(Effect.NO_RDMA, "no device of AWS EFA or Slingshot", "spark.shuffle.rdma.fabric.ofi.provider");
        host.settings.put("spark.shuffle.rdma.fabric.ofi.provider", "verbs;ofi_rxm");
        assertFound(Effect.NONE, "(verbs;ofi_rxm)", "");
    }

    @Test
    void thePoolIsPinnedOnceMoreForPeers() {
        host.lockedMemory("65536");
        assertThat(host.worst("locked-memory").effect()).isEqualTo(Effect.NO_RDMA);
        assertThat(host.worst("locked-memory").message()).contains("pinned 2 time(s)");
    }
}
