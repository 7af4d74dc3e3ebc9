// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.doctor.report.HostReport;
import io.rdmashuffle.verbs.GidEntry;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the RDMA checks: each finding with its effect and remedy. */
@Tag("unit")
@Timeout(60)
class RdmaCheckTest {
    @TempDir
    Path root;

    private FakeHost host;

    @BeforeEach
    void healthy() {
        host = new FakeHost(root);
    }

    private void assertFound(String check, Effect effect, String seen, String... remedy) {
        Finding finding = host.worst(check);
        assertThat(finding.effect()).as(finding.message()).isEqualTo(effect);
        assertThat(finding.message()).contains(seen);
        assertThat(finding.remedy()).contains(remedy);
        HostReport report = host.examine();
        assertThat(report.exitCode()).isEqualTo(effect.exitCode());
        assertThat(report.rdma()).isEqualTo(effect.compareTo(Effect.NO_RDMA) < 0);
    }

    private void assertNoPort(String refusal, String... remedy) {
        host.rdma.refusal = refusal;
        assertFound("ports", Effect.NO_RDMA, refusal, remedy);
        assertThat(host.examine().findings())
                .noneMatch(finding -> finding.check().equals("loopback-read"));
    }

    @Test
    void librariesThatAreMissingOrIncompleteAreNamed() {
        host.rdma.libraries = List.of(
                new LibraryFacts("libibverbs.so.1", "", List.of(), "cannot load libibverbs.so.1: no such file"));
        assertFound("libraries", Effect.NO_RDMA, "cannot load", "librdmacm1 ibverbs-providers");
        host.rdma.libraries =
                List.of(new LibraryFacts("librdmacm.so.1", "/l/librdmacm.so.1.1", List.of("rdma_establish"), ""));
        assertFound("libraries", Effect.NO_RDMA, "lacks rdma_establish", "rdma-core 23");
        host.rdma.libraries = List.of(
                new LibraryFacts("libibverbs.so.1", "/l/libibverbs.so.1.1", List.of("_ibv_query_gid_table"), ""));
        assertThat(host.worst("libraries").effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void withoutADeviceNothingIsWrongWithTheSettings() {
        host.rdma.kernelDevices = List.of();
        host.rdma.devices = List.of();
        assertNoPort("this machine has no RDMA device", "none without an RDMA card", "load its driver");
        host.lockedMemory("65536");
        assertThat(host.worst("locked-memory").effect()).as("nothing is pinned").isEqualTo(Effect.NONE);
    }

    @Test
    void aDeviceWithoutAProviderIsNamed() {
        host.rdma.devices = List.of();
        assertNoPort("the kernel has mlx5_0", "provider of mlx5_0", "ibverbs-providers", "/dev/infiniband");
    }

    @Test
    void aDeviceThatCannotBeOpenedIsNamed() {
        host.rdma.devices = List.of(DeviceFacts.closed("mlx5_0", "ibv_open_device(mlx5_0): EACCES (13)"));
        assertNoPort("mlx5_0: ibv_open_device(mlx5_0): EACCES (13)", "allow this user to open /dev/infiniband/uverbs*");
        assertThat(host.worst("devices").message()).contains("EACCES");
    }

    @Test
    void aDeviceWithoutReliableConnectionsIsNamed() {
        host.rdma.devices = List.of(
                new DeviceFacts("efa_0", "", false, "UNSPECIFIED", "", false, List.of(FakeRdma.portWithoutAddress())));
        assertNoPort("efa_0 has no reliable connections", "another kind of device");
        assertThat(host.worst("devices").facts()).containsEntry("usable", false);
    }

    @Test
    void aPortThatIsDownIsNamed() {
        host.rdma.devices = List.of(FakeRdma.device(FakeRdma.port(FakeRdma.DOWN, "10.0.0.7", GidEntry.Type.ROCE_V2)));
        assertNoPort("no RDMA port is active", "ip link set eth2 up", "subnet manager");
        assertThat(host.worst("devices").message()).contains("NOT ACTIVE");
    }

    @Test
    void aPortWithoutAnAddressNamesItsInterface() {
        host.rdma.devices = List.of(FakeRdma.device(FakeRdma.portWithoutAddress()));
        assertNoPort("mlx5_0: port 1 has no IP address", "ip addr add ADDRESS/PREFIX dev eth2", "IPoIB");
    }

    @Test
    void aPortThatWasAskedForAndIsNotThereIsNamed() {
        host.settings.put("spark.shuffle.rdma.fabric.verbs.devices", "mlx5_7");
        assertNoPort("there is no active port mlx5_7", "spark.shuffle.rdma.fabric.verbs.devices=auto");
    }

    @Test
    void aChannelThatCannotBeOpenedNamesTheModule() {
        assertNoPort("rdma_create_event_channel(): ENODEV (19)", "rdma_ucm", "/dev/infiniband/rdma_cm");
    }

    @Test
    void roceVersionOneIsNamed() {
        host.file("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "IB/RoCE v1\n");
        assertFound("gid", Effect.LESS, "RoCE v1", "cma_roce_mode -d mlx5_0 -p 1 -m 2");
        host.rdma.devices = List.of(FakeRdma.device(FakeRdma.port(FakeRdma.ACTIVE, "10.0.0.7", GidEntry.Type.ROCE_V1)));
        assertFound("gid", Effect.LESS, "no GID of RoCE v2", "driver");
    }

    @Test
    void lowLockedMemoryNamesLimitNeedAndRemedies() {
        host.lockedMemory("" + (512 << 20));
        assertFound(
                "locked-memory",
                Effect.NO_RDMA,
                "RLIMIT_MEMLOCK of this process is 524288 KiB, CAP_IPC_LOCK is not effective",
                "ulimit -l 1114112",
                "LimitMEMLOCK=infinity",
                "--ulimit memlock=-1",
                "spark.shuffle.rdma.pool.maxSize=448m",
                "onDemandPaging=true");
        assertThat(host.examine().verdict()).contains("RDMA is not used on this host (locked-memory)");
        host.lockedMemory("65536");
        assertThat(host.worst("locked-memory").remedy()).doesNotContain("pool.maxSize");
        host.settings.put("spark.shuffle.rdma.pool.maxSize", "448m");
        host.lockedMemory("" + (512 << 20));
        assertThat(host.worst("locked-memory").effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void noLimitWithIpcLockOrWithoutPinning() {
        host.lockedMemory("65536");
        host.capabilities("0000000000004000");
        assertThat(host.worst("locked-memory").message()).contains("CAP_IPC_LOCK is effective");
        assertThat(host.examine().exitCode()).isZero();
        host.capabilities("0000000000000000");
        host.settings.put("spark.shuffle.rdma.fabric.verbs.onDemandPaging", "true");
        assertThat(host.worst("locked-memory").effect())
                .as("the device does not support on-demand paging")
                .isEqualTo(Effect.NO_RDMA);
        DeviceFacts pinned = host.rdma.devices.get(0);
        host.rdma.devices =
                List.of(new DeviceFacts(pinned.name(), "", true, pinned.transport(), "", true, pinned.ports()));
        assertThat(host.worst("locked-memory").message()).contains("with on-demand paging");
        assertThat(host.examine().exitCode()).isZero();
    }

    @Test
    void aPeerThatDoesNotAnswerIsNamed() {
        host.peers = List.of("10.0.0.8");
        assertThat(host.worst("peer").message()).isEqualTo("10.0.0.8 answers over mlx5_0:1 10.0.0.7");
        assertThat(host.examine().exitCode()).isZero();
        host.peers = List.of("10.0.0.8", "10.0.0.9");
        assertFound("peer", Effect.LESS, "10.0.0.9 does not answer", "4791", "ping reaches it", "rping");
    }

    @Test
    void aReadThatFailsIsNamed() {
        host.rdma.readFailure = new IllegalStateException("connecting to 10.0.0.7 took longer than 10 s");
        assertFound("loopback-read", Effect.NO_RDMA, "took longer than 10 s", "rping", "4791");
        host.rdma.readFailure = new IllegalStateException("ibv_reg_mr(length=1048576): ENOMEM (12)");
        assertFound("loopback-read", Effect.NO_RDMA, "ENOMEM", "see locked-memory");
    }

    @Test
    void aPortThatCannotReadItselfLeavesTheOthers() {
        host.rdma.deaf = true;
        assertFound("loopback-read", Effect.LESS, "no READ over mlx5_1:1", "rping");
    }

    @Test
    void aReadTellsItsFigures() {
        Finding read = host.worst("loopback-read");
        assertThat(read.message()).contains("4 KiB take 2.5 us", "11.50 GB/s");
        assertThat(read.facts()).containsEntry("medianMicros", 2.5).containsEntry("bytesPerSecond", 11_500_000_000L);
    }
}
