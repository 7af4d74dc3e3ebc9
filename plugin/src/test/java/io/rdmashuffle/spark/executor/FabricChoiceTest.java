// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.spark.PoolDataIO;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When RDMA is not used though there may be a device. */
@Tag("unit")
class FabricChoiceTest {
    private static final PoolSettings POOL = new PoolSettings(Path.of("/dev/shm"), 1000, 0, 1000, false);

    @Test
    void nothingSpeaksAgainstItByDefault() {
        assertThat(FabricChoice.reasonAgainstOpenBytes(new SparkConf(false))).isEmpty();
    }

    /** Spark's three ways to encrypt connections. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "spark.network.crypto.enabled",
                "spark.authenticate.enableSaslEncryption",
                "spark.ssl.rpc.enabled"
            })
    void encryptedRpcKeepsPlainBytesOffRdma(String key) {
        SparkConf conf = new SparkConf(false).set(key, "true");
        assertThat(FabricChoice.reasonAgainstOpenBytes(conf))
                .hasValueSatisfying(why -> assertThat(why).contains("spark.io.encryption.enabled=true"));
        assertThat(FabricChoice.reasonAgainstOpenBytes(conf.set("spark.io.encryption.enabled", "true")))
                .as("blocks are encrypted themselves")
                .isEmpty();
    }

    private static Optional<String> withoutDevice(Map<String, String> settings, String... devices) {
        return FabricChoice.withoutDevice(ShuffleConfig.read(settings), List.of(devices));
    }

    /** Users who request RDMA, or name a port, see the reason of the libraries. */
    @Test
    void noDeviceLoadsNoLibraryInAutoMode() {
        assertThat(withoutDevice(Map.of())).contains("this machine has no RDMA device");
        assertThat(withoutDevice(Map.of(), "mlx5_0")).isEmpty();
        assertThat(withoutDevice(Map.of("spark.shuffle.rdma.fabric.mode", "verbs")))
                .isEmpty();
        assertThat(withoutDevice(Map.of("spark.shuffle.rdma.fabric.verbs.devices", "mlx5_0")))
                .isEmpty();
    }

    @Test
    void theProviderIsTheKernelsUnlessOneIsSet() throws Exception {
        assertThat(FabricChoice.provider("auto", Optional.of("cxi"))).isEqualTo("cxi");
        assertThat(FabricChoice.provider("tcp;ofi_rxm", Optional.of("cxi"))).isEqualTo("tcp;ofi_rxm");
        assertThatThrownBy(() -> FabricChoice.provider("auto", Optional.empty()))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessageContaining("spark.shuffle.rdma.fabric.ofi.provider");
    }

    private static HostLimits lockable(long bytes) {
        return new HostLimits(5000, OptionalLong.empty(), OptionalLong.of(bytes), 0, 0);
    }

    @Test
    void aFabricThatPinsMoreThanMayBeLockedIsClosed() throws Exception {
        FakeFabric twoRails = new FakeFabric(2);
        assertThatThrownBy(() -> FabricChoice.affordable(twoRails, lockable(1 << 20), POOL))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessageContaining("pinned for 2 RDMA port(s)")
                .hasMessageContaining("RLIMIT_MEMLOCK is 1.0 MiB");
        assertThat(twoRails.closed()).isTrue();
        FakeFabric fits = new FakeFabric(2);
        assertThat(FabricChoice.affordable(fits, lockable(1 << 30), POOL)).isSameAs(fits);
        assertThat(fits.closed()).isFalse();
    }

    /** Whether it does is the device's to say, not the setting's. */
    @Test
    void aFabricThatPinsNothingMayLockNothing() throws Exception {
        FakeFabric onDemand = new FakeFabric(0);
        assertThat(FabricChoice.affordable(onDemand, lockable(0), POOL)).isSameAs(onDemand);
    }

    /** As on Spark 3.5, which creates the shuffle manager first. */
    @Test
    void theSecretIsKnownBeforeSparksEnvironmentIsThere() {
        assertThat(SparkEnv.get()).isNull();
        SparkConf authenticated = new SparkConf(false)
                .set("spark.authenticate", "true")
                .set("spark.authenticate.secret", "of this application");
        byte[] message = {1, 2, 3};
        assertThat(FabricChoice.secret(authenticated).proof(message))
                .isEqualTo(Secret.of("of this application".getBytes(UTF_8)).proof(message));
        assertThat(FabricChoice.secret(new SparkConf(false)).isRequired()).isFalse();
    }

    /** The doctor knows these classes by name only. */
    @Test
    void settingsNameTheClassesThatThereAre() {
        assertThat(SparkSettings.MANAGER).isEqualTo(RdmaShuffleManager.class.getName());
        assertThat(SparkSettings.DATA_IO).isEqualTo(PoolDataIO.class.getName());
    }
}
