// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.PoolSettings;
import java.nio.file.Path;
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
    private static final OptionalLong UNLIMITED = OptionalLong.empty();

    private static Optional<String> reason(SparkConf conf, OptionalLong memlock, Map<String, String> ours) {
        HostLimits limits = new HostLimits(5000, UNLIMITED, memlock, 0, 0);
        return FabricChoice.reasonAgainstRdma(conf, ShuffleConfig.read(ours), limits, POOL);
    }

    @Test
    void nothingSpeaksAgainstItByDefault() {
        assertThat(reason(new SparkConf(false), UNLIMITED, Map.of())).isEmpty();
    }

    /** Spark's three ways to encrypt connections. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "spark.network.crypto.enabled",
                "spark.authenticate.enableSaslEncryption",
                "spark.ssl.rpc.enabled"
            })
    void plainBytesDoNotLeaveByRdmaWhereSparkEncryptsItsConnections(String key) {
        SparkConf conf = new SparkConf(false).set(key, "true");
        assertThat(reason(conf, UNLIMITED, Map.of()))
                .hasValueSatisfying(why -> assertThat(why).contains("spark.io.encryption.enabled=true"));
        assertThat(reason(conf.set("spark.io.encryption.enabled", "true"), UNLIMITED, Map.of()))
                .as("blocks are encrypted themselves")
                .isEmpty();
    }

    @Test
    void aPoolThatMayNotBePinnedIsNotRegistered() {
        assertThat(reason(new SparkConf(false), OptionalLong.of(999), Map.of()))
                .hasValueSatisfying(why -> assertThat(why).contains("RLIMIT_MEMLOCK"));
        assertThat(reason(new SparkConf(false), OptionalLong.of(1000), Map.of()))
                .isEmpty();
        assertThat(reason(
                        new SparkConf(false),
                        OptionalLong.of(999),
                        Map.of("spark.shuffle.rdma.fabric.verbs.onDemandPaging", "true")))
                .as("nothing is pinned")
                .isEmpty();
    }

    /** As on Spark 3.5, which creates the shuffle manager first. */
    @Test
    void theSecretIsKnownBeforeSparksEnvironmentIsThere() {
        assertThat(SparkEnv.get()).isNull();
        SparkConf authenticated = new SparkConf(false)
                .set("spark.authenticate", "true")
                .set("spark.authenticate.secret", "of this application");
        assertThat(FabricChoice.secret(authenticated))
                .hasValueSatisfying(secret -> assertThat(secret).asString(UTF_8).isEqualTo("of this application"));
        assertThat(FabricChoice.secret(new SparkConf(false))).isEmpty();
    }
}
