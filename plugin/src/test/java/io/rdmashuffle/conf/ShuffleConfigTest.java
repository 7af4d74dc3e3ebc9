// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("unit")
class ShuffleConfigTest {
    private static final String PREFIX = ShuffleConfig.PREFIX;

    static Stream<ConfigEntry<?>> entries() {
        return ShuffleConfig.entries().stream();
    }

    static Stream<Arguments> unreadable() {
        return entries().flatMap(entry -> rubbish(entry).map(raw -> Arguments.of(entry, raw)));
    }

    /** Almost any word is the name of a device. */
    private static Stream<String> rubbish(ConfigEntry<?> entry) {
        if (entry.equals(VerbsConfig.DEVICES)) {
            return Stream.of(
                    "", " ", "mlx5_0:", "mlx5_0:x", ":1", "a b", "mlx5_0:1:2:3", "mlx5_0,,mlx5_1", "auto,mlx5_0:");
        }
        return entry.type().equals(ValueType.NAMES)
                ? Stream.of("", " ", "a b", "a,,b", "a/b")
                : Stream.of("", " ", "rubbish", "1.5g", "-1", "1x", "99999999999999999999");
    }

    static Stream<Arguments> outOfRange() {
        return entries()
                .filter(entry -> entry.min() != null)
                .flatMap(entry -> justOutside(entry).stream().map(raw -> Arguments.of(entry, raw)));
    }

    /** One unit below the smallest value, where that is not below nothing, and one above the largest. */
    private static List<String> justOutside(ConfigEntry<?> entry) {
        Object min = entry.min();
        Object max = entry.max();
        if (min instanceof Long low && max instanceof Long high) {
            return low == 0 ? List.of("" + (high + 1)) : List.of("" + (low - 1), "" + (high + 1));
        }
        if (min instanceof Integer low && max instanceof Integer high) {
            return List.of("" + (low - 1), "" + (high + 1), "2147483648");
        }
        if (min instanceof Duration low && max instanceof Duration high) {
            String above = (high.toMillis() + 1) + "ms";
            return low.isZero() ? List.of(above) : List.of((low.toMillis() - 1) + "ms", above, "0ms", "9999999999d");
        }
        throw new AssertionError("unexpected bounds of " + entry);
    }

    @ParameterizedTest
    @MethodSource({"unreadable", "outOfRange"})
    void refusedValueIsNamedWithKeyRangeAndUnit(ConfigEntry<?> entry, String raw) {
        Map<String, String> settings = Map.of(entry.key(), raw);

        ConfigException refused = catchThrowableOfType(ConfigException.class, () -> ShuffleConfig.read(settings));

        assertThat(refused.problems()).hasSize(1);
        assertThat(refused)
                .hasMessageStartingWith(entry.key() + "=" + raw + ": ")
                .hasMessageContaining("must be " + entry.range())
                .hasMessageContaining("(" + entry.unit() + ")");
    }

    @ParameterizedTest
    @MethodSource("entries")
    void defaultIsReadableInRangeAndDocumented(ConfigEntry<?> entry) {
        assertThat(entry.key()).startsWith(PREFIX).matches("[a-zA-Z.]+");
        assertThat(entry.doc()).endsWith(".");
        assertThat(entry.since()).isNotEmpty();
        assertThat(entry.unit()).isNotEmpty();
        assertReadsBack(entry);
    }

    private static <T extends Comparable<T>> void assertReadsBack(ConfigEntry<T> entry) {
        String text = entry.format(entry.defaultValue());
        ShuffleConfig config = ShuffleConfig.read(Map.of(entry.key(), "  " + text + " "));
        if (entry.equals(ShuffleConfig.POOL_REGION_SIZE)) {
            assertThat(config.toString()).as("what follows from the cap").contains(entry.key() + "=256m");
            return;
        }
        assertThat(config.get(entry)).isEqualTo(entry.defaultValue());
        assertThat(config.toString()).contains(entry.key() + "=" + text);
    }

    @Test
    void keysAreDistinct() {
        assertThat(entries().map(ConfigEntry::key)).doesNotHaveDuplicates();
    }

    private static void assertVerbs(ShuffleConfig config) {
        assertThat(PortSelector.parse(config.get(VerbsConfig.DEVICES)))
                .containsExactly(new PortSelector("mlx5_0", 1, 3), new PortSelector("mlx5_1", -1, -1));
        assertThat(config.get(VerbsConfig.DEVICE_TIMEOUT)).isEqualTo(Duration.ofSeconds(45));
        assertThat(config.get(VerbsConfig.THREADS)).isEqualTo(2);
        assertThat(config.get(VerbsConfig.POLL_TIME)).isEqualTo(Duration.ofNanos(50_000));
        assertThat(config.get(VerbsConfig.INITIATOR_DEPTH)).isEqualTo(8);
        assertThat(config.get(VerbsConfig.QUEUE_DEPTH)).isEqualTo(256);
        assertThat(config.get(VerbsConfig.READ_SIZE)).isEqualTo(2 << 20);
        assertThat(config.get(VerbsConfig.MTU)).isEqualTo(4096);
        assertThat(config.get(VerbsConfig.TRAFFIC_CLASS)).isEqualTo(106);
        assertThat(config.get(VerbsConfig.SERVICE_LEVEL)).isEqualTo(3);
        assertThat(config.get(VerbsConfig.ACK_TIMEOUT)).isEqualTo(18);
        assertThat(config.get(VerbsConfig.RETRY_COUNT)).isEqualTo(5);
        assertThat(config.get(VerbsConfig.CONNECT_TIMEOUT)).isEqualTo(Duration.ofSeconds(6));
        assertThat(config.get(VerbsConfig.IDLE_TIMEOUT)).isEqualTo(Duration.ofMinutes(9));
        assertThat(config.get(VerbsConfig.ON_DEMAND_PAGING)).isTrue();
        assertThat(config.get(VerbsConfig.RELAXED_ORDERING)).isFalse();
        assertThat(config.get(VerbsConfig.COMPLETION_VECTOR)).isEqualTo(7);
    }

    private static void assertPool(ShuffleConfig config) {
        assertThat(config.get(ShuffleConfig.POOL_MAX_SIZE)).isEqualTo(8L << 30);
        assertThat(config.get(ShuffleConfig.POOL_INITIAL_SIZE)).isZero();
        assertThat(config.get(ShuffleConfig.POOL_REGION_SIZE)).isEqualTo(1L << 40);
        assertThat(config.get(ShuffleConfig.POOL_DIRECTORY)).isEqualTo("/mnt/huge");
        assertThat(config.get(ShuffleConfig.POOL_ON_SHORTAGE)).isEqualTo(OnShortage.FAIL);
        assertThat(config.get(ShuffleConfig.POOL_HUGEPAGES)).isEqualTo(Hugepages.OFF);
        assertThat(config.get(ShuffleConfig.POOL_CHUNK_SIZE)).isEqualTo(65536);
        assertThat(config.get(ShuffleConfig.POOL_RESERVE_TIMEOUT)).isEqualTo(Duration.ZERO);
        assertThat(config.get(ShuffleConfig.POOL_IDLE_TIMEOUT)).isEqualTo(Duration.ofMinutes(2));
        assertThat(config.get(ShuffleConfig.POOL_HIGH_WATER_MARK)).isEqualTo(60);
    }

    private static void putTcpAndOfi(Map<String, String> settings) {
        settings.put(PREFIX + "fabric.tcp.port", "7400");
        settings.put(PREFIX + "fabric.tcp.threads", "2");
        settings.put(PREFIX + "fabric.tcp.connectTimeout", "3s");
        settings.put(PREFIX + "fabric.tcp.idleTimeout", "0ms");
        settings.put(PREFIX + "fabric.ofi.provider", "verbs;ofi_rxm");
        settings.put(PREFIX + "fabric.ofi.devices", "rxe0,rxe1");
        settings.put(PREFIX + "fabric.ofi.trustNetwork", "true");
        settings.put(PREFIX + "fabric.ofi.connectTimeout", "4s");
    }

    private static void assertTcpAndOfi(ShuffleConfig config) {
        assertThat(config.get(TcpConfig.PORT)).isEqualTo(7400);
        assertThat(config.get(TcpConfig.THREADS)).isEqualTo(2);
        assertThat(config.get(TcpConfig.CONNECT_TIMEOUT)).isEqualTo(Duration.ofSeconds(3));
        assertThat(config.get(TcpConfig.IDLE_TIMEOUT)).isEqualTo(Duration.ZERO);
        assertThat(config.get(OfiConfig.PROVIDER)).isEqualTo("verbs;ofi_rxm");
        assertThat(config.get(OfiConfig.DEVICES)).isEqualTo("rxe0,rxe1");
        assertThat(config.get(OfiConfig.TRUST_NETWORK)).isTrue();
        assertThat(config.get(OfiConfig.CONNECT_TIMEOUT)).isEqualTo(Duration.ofSeconds(4));
    }

    private static void putVerbs(Map<String, String> settings) {
        settings.put(PREFIX + "fabric.verbs.devices", "mlx5_0:1:3, mlx5_1");
        settings.put(PREFIX + "fabric.verbs.deviceTimeout", "45s");
        settings.put(PREFIX + "fabric.verbs.threads", "2");
        settings.put(PREFIX + "fabric.verbs.pollTime", "50us");
        settings.put(PREFIX + "fabric.verbs.initiatorDepth", "8");
        settings.put(PREFIX + "fabric.verbs.queueDepth", "256");
        settings.put(PREFIX + "fabric.verbs.readSize", "2m");
        settings.put(PREFIX + "fabric.verbs.mtu", "4096");
        settings.put(PREFIX + "fabric.verbs.trafficClass", "106");
        settings.put(PREFIX + "fabric.verbs.serviceLevel", "3");
        settings.put(PREFIX + "fabric.verbs.ackTimeout", "18");
        settings.put(PREFIX + "fabric.verbs.retryCount", "5");
        settings.put(PREFIX + "fabric.verbs.connectTimeout", "6s");
        settings.put(PREFIX + "fabric.verbs.idleTimeout", "9min");
        settings.put(PREFIX + "fabric.verbs.onDemandPaging", "true");
        settings.put(PREFIX + "fabric.verbs.relaxedOrdering", "false");
        settings.put(PREFIX + "fabric.verbs.completionVector", "7");
    }

    private static void putPool(Map<String, String> settings) {
        settings.put(PREFIX + "pool.maxSize", "8g");
        settings.put(PREFIX + "pool.initialSize", "0");
        settings.put(PREFIX + "pool.directory", "/mnt/huge");
        settings.put(PREFIX + "pool.onShortage", "fail");
        settings.put(PREFIX + "pool.hugepages", "off");
        settings.put(PREFIX + "pool.chunkSize", "65536");
        settings.put(PREFIX + "pool.reserveTimeout", "0ms");
        settings.put(PREFIX + "pool.idleTimeout", "2min");
        settings.put(PREFIX + "pool.highWaterMark", "60");
        settings.put(PREFIX + "pool.regionSize", "1t");
    }

    @Test
    void valuesAreThoseThatWereSet() {
        Map<String, String> settings = new HashMap<>();
        putPool(settings);
        settings.put(PREFIX + "fabric.mode", "SHM");
        settings.put(PREFIX + "fabric.maxBytesInFlight", "2mb");
        settings.put(PREFIX + "fabric.readTimeout", "7s");
        settings.put(PREFIX + "fabric.shm.inPlace", "FALSE");
        settings.put(PREFIX + "fabric.shm.threads", "3");
        settings.put(PREFIX + "disk.enabled", "false");
        settings.put(PREFIX + "disk.minFree", "2g");
        settings.put(PREFIX + "disk.compress", "never");
        settings.put(PREFIX + "directory.maxShuffles", "16");
        settings.put(PREFIX + "direct.enabled", "false");
        settings.put(PREFIX + "direct.compressAbove", "40");
        settings.put(PREFIX + "fetch.timeout", "1h");
        settings.put(PREFIX + "fetch.verifyChecksum", "false");
        settings.put(PREFIX + "registry.timeout", "1500ms");
        settings.put(PREFIX + "registry.sweepInterval", "30s");
        settings.put(PREFIX + "peer.quarantine", "1m");
        settings.put(PREFIX + "migration.timeout", "5min");
        settings.put(PREFIX + "outlive.enabled", "false");
        settings.put(PREFIX + "outlive.maxBytes", "1g");
        settings.put(PREFIX + "outlive.hold", "7s");
        settings.put(PREFIX + "metrics.interval", "20s");
        settings.put(PREFIX + "metrics.eventInterval", "2min");
        putVerbs(settings);
        putTcpAndOfi(settings);

        ShuffleConfig config = ShuffleConfig.read(settings);

        assertThat(settings).hasSameSizeAs(ShuffleConfig.entries());
        assertVerbs(config);
        assertTcpAndOfi(config);
        assertThat(config.get(MetricsConfig.INTERVAL)).isEqualTo(Duration.ofSeconds(20));
        assertThat(config.get(MetricsConfig.EVENT_INTERVAL)).isEqualTo(Duration.ofMinutes(2));
        assertThat(config.get(ShuffleConfig.FABRIC_MODE)).isEqualTo(FabricMode.SHM);
        assertThat(config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT)).isEqualTo(2L << 20);
        assertThat(config.get(ShuffleConfig.FABRIC_READ_TIMEOUT)).isEqualTo(Duration.ofSeconds(7));
        assertThat(config.get(ShuffleConfig.DISK_ENABLED)).isFalse();
        assertThat(config.get(ShuffleConfig.DISK_MIN_FREE)).isEqualTo(2L << 30);
        assertThat(config.get(ShuffleConfig.DISK_COMPRESS)).isEqualTo(DiskCompression.NEVER);
        assertThat(config.get(ShuffleConfig.FABRIC_SHM_IN_PLACE)).isFalse();
        assertThat(config.get(ShuffleConfig.FABRIC_SHM_THREADS)).isEqualTo(3);
        assertPool(config);
        assertThat(config.get(ShuffleConfig.DIRECTORY_MAX_SHUFFLES)).isEqualTo(16);
        assertThat(config.get(ShuffleConfig.DIRECT_ENABLED)).isFalse();
        assertThat(config.get(ShuffleConfig.DIRECT_COMPRESS_ABOVE)).isEqualTo(40);
        assertThat(config.get(ShuffleConfig.FETCH_TIMEOUT)).isEqualTo(Duration.ofHours(1));
        assertThat(config.get(ShuffleConfig.FETCH_VERIFY_CHECKSUM)).isFalse();
        assertThat(config.get(ShuffleConfig.REGISTRY_TIMEOUT)).isEqualTo(Duration.ofMillis(1500));
        assertThat(config.get(ShuffleConfig.REGISTRY_SWEEP_INTERVAL)).isEqualTo(Duration.ofSeconds(30));
        assertThat(config.get(ShuffleConfig.PEER_QUARANTINE)).isEqualTo(Duration.ofMinutes(1));
        assertThat(config.get(ShuffleConfig.MIGRATION_TIMEOUT)).isEqualTo(Duration.ofMinutes(5));
    }

    @ParameterizedTest
    @CsvSource({
        "pool.initialSize, 2g, pool.maxSize, 1g",
        "pool.chunkSize, 64m, pool.maxSize, 32m",
        "pool.chunkSize, 2m, pool.regionSize, 1m",
        "fabric.readTimeout, 5s, fetch.timeout, 2s",
        "registry.timeout, 5s, fetch.timeout, 2s"
    })
    void contradictionNamesBothKeys(String low, String lowValue, String high, String highValue) {
        Map<String, String> settings = Map.of(PREFIX + low, lowValue, PREFIX + high, highValue);

        ConfigException refused = catchThrowableOfType(ConfigException.class, () -> ShuffleConfig.read(settings));

        assertThat(refused.problems()).hasSize(1);
        assertThat(refused)
                .hasMessageStartingWith(PREFIX + low + "=" + lowValue + ": ")
                .hasMessageContaining("must not be above " + PREFIX + high + "=" + highValue + ";")
                .hasMessageContaining("allowed: between ");
    }

    @Test
    void contradictionWithADefaultSaysSo() {
        assertThatThrownBy(() -> ShuffleConfig.read(Map.of(PREFIX + "pool.initialSize", "2g")))
                .hasMessageContaining("must not be above spark.shuffle.rdma.pool.maxSize=1g, its default");
    }

    @Test
    void defaultsAreLoweredRatherThanContradicted() {
        ShuffleConfig config =
                ShuffleConfig.read(Map.of(PREFIX + "pool.maxSize", "8m", PREFIX + "fetch.timeout", "1s"));

        assertThat(config.get(ShuffleConfig.POOL_INITIAL_SIZE)).isEqualTo(8L << 20);
        assertThat(config.get(ShuffleConfig.POOL_REGION_SIZE))
                .as("the pool clips regions")
                .isEqualTo(256L << 20);
        assertThat(config.get(ShuffleConfig.FABRIC_READ_TIMEOUT)).isEqualTo(Duration.ofSeconds(1));
        assertThat(config.get(ShuffleConfig.REGISTRY_TIMEOUT)).isEqualTo(Duration.ofSeconds(1));
    }

    @ParameterizedTest
    @CsvSource({"1m, 256m", "1g, 256m", "8g, 256m", "40g, 1280m", "400g, 8g", "2t, 8g", "1p, 16g"})
    void regionSizeFollowsFromTheCap(String maxSize, String regionSize) {
        for (Map<String, String> settings : List.of(
                Map.of(PREFIX + "pool.maxSize", maxSize),
                Map.of(PREFIX + "pool.maxSize", maxSize, PREFIX + "pool.regionSize", "auto"))) {
            assertThat(ByteSize.format(ShuffleConfig.read(settings).get(ShuffleConfig.POOL_REGION_SIZE)))
                    .isEqualTo(regionSize);
        }
    }

    @Test
    void regionSizeIsAtLeastAMebibyte() {
        assertThatThrownBy(() -> ShuffleConfig.read(Map.of(PREFIX + "pool.regionSize", "1023k")))
                .hasMessageContaining("pool.regionSize=1023k: below 1m")
                .hasMessageContaining("between auto and 1t");
        assertThatThrownBy(() -> ShuffleConfig.read(Map.of(PREFIX + "pool.regionSize", "0")))
                .hasMessageContaining("below 1m");
    }

    @Test
    void everyProblemIsReportedAtOnce() {
        Map<String, String> settings = Map.of(
                PREFIX + "pool.maxSize", "12k",
                PREFIX + "fetch.timeout", "120",
                PREFIX + "registry.timeout", "5min",
                PREFIX + "pool.maxsize", "1g");

        ConfigException refused = catchThrowableOfType(ConfigException.class, () -> ShuffleConfig.read(settings));

        assertThat(refused.problems())
                .containsExactly(
                        "spark.shuffle.rdma.pool.maxSize=12k: must be between 1m and 1p (bytes)",
                        "spark.shuffle.rdma.fetch.timeout=120: not a duration such as 100ms or 30s; units us, ms, s,"
                                + " min, h, d; must be between 1s and 1d (duration)",
                        "spark.shuffle.rdma.pool.maxsize: no such key; the nearest is spark.shuffle.rdma.pool.maxSize");
        assertThat(refused.getMessage())
                .startsWith("3 settings cannot be used:\n  spark.shuffle.rdma.pool.maxSize=12k");
    }

    @ParameterizedTest
    @CsvSource({
        "fetch.timout, fetch.timeout",
        "pool.max, pool.maxSize",
        "fabric.shm.thread, fabric.shm.threads",
        "quarantine, peer.quarantine",
        "Fabric.Mode, fabric.mode"
    })
    void unknownKeyIsRefusedWithTheNearest(String unknown, String nearest) {
        assertThatThrownBy(() -> ShuffleConfig.read(Map.of(PREFIX + unknown, "1")))
                .isInstanceOf(ConfigException.class)
                .hasMessage(PREFIX + unknown + ": no such key; the nearest is " + PREFIX + nearest);
    }

    @Test
    void keysOfOthersAreIgnored() {
        ShuffleConfig config =
                ShuffleConfig.read(Map.of("spark.shuffle.compress", "true", "spark.shuffle.rdmaother", "x"));

        assertThat(config.get(ShuffleConfig.FABRIC_MODE)).isEqualTo(FabricMode.AUTO);
    }
}
