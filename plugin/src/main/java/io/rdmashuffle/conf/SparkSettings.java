// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Spark's own keys that affect this shuffle, for the manager that Spark loads and for the doctor, which runs without
 * Spark.
 *
 * <p><b>Threading:</b> immutable, if the lookup is.
 *
 * @param lookup the raw text of a key, null where the key is absent
 */
public record SparkSettings(Function<String, @Nullable String> lookup) {
    /** The key that names the shuffle manager. */
    public static final String MANAGER_KEY = "spark.shuffle.manager";

    /** Required value of that key. */
    public static final String MANAGER = "io.rdmashuffle.spark.RdmaShuffleManager";

    /** Names where map outputs go; the manager sets it. */
    public static final String DATA_IO_KEY = "spark.shuffle.sort.io.plugin.class";

    /** Value that the manager sets. */
    public static final String DATA_IO = "io.rdmashuffle.spark.PoolDataIO";

    private static final String SERVICE_KEY = "spark.shuffle.service.enabled";
    private static final String FALLBACK_STORAGE_KEY = "spark.storage.decommission.fallbackStorage.path";

    private static final long MEBIBYTE = 1 << 20;

    /** Returns the text of a key, or what holds without it. */
    public String text(String key, String otherwise) {
        String value = lookup.apply(key);
        return value == null ? otherwise : value.strip();
    }

    /** Returns whether a key is set to true. */
    public boolean isTrue(String key, boolean otherwise) {
        return Boolean.parseBoolean(text(key, Boolean.toString(otherwise)));
    }

    /**
     * Returns a size in bytes.
     *
     * @param inMebibytes whether a number without a suffix counts MiB, as of most of Spark's keys about memory
     * @throws IllegalArgumentException if the text is no size
     */
    public long bytes(String key, String otherwise, boolean inMebibytes) {
        String text = text(key, otherwise);
        try {
            long number = ByteSize.parse(text);
            return inMebibytes && text.matches("\\d+") ? Math.multiplyExact(number, MEBIBYTE) : number;
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(key + "=" + text + ": " + e.getMessage(), e);
        }
    }

    /** Returns the key that requires sort shuffle for the application, with its remedy; empty if there is none. */
    public Optional<String> reasonForSort() {
        if (isTrue(SERVICE_KEY, false) && !isServed()) {
            return Optional.of("spark.shuffle.service.enabled=true: the shuffle service serves files, not an executor's"
                    + " memory; set spark.shuffle.rdma.outlive.enabled=true, or spark.shuffle.service.enabled=false"
                    + " (dynamic allocation then needs spark.dynamicAllocation.shuffleTracking.enabled=true)");
        }
        if (isServed() && lookup.apply(FALLBACK_STORAGE_KEY) != null) {
            return Optional.of(
                    "spark.storage.decommission.fallbackStorage.path copies shuffle files, which are links to"
                            + " an executor's memory with spark.shuffle.service.enabled=true; remove it");
        }
        if (isTrue("spark.shuffle.push.enabled", false)) {
            return Optional.of("spark.shuffle.push.enabled=true merges files on shuffle services; set it to false");
        }
        if (isTrue("spark.shuffle.useOldFetchProtocol", false)) {
            return Optional.of("spark.shuffle.useOldFetchProtocol=true; set it to false");
        }
        String dataIo = text(DATA_IO_KEY, DATA_IO);
        return dataIo.equals(DATA_IO)
                ? Optional.empty()
                : Optional.of(DATA_IO_KEY + "=" + dataIo + " is another shuffle data plugin; remove it");
    }

    /**
     * Returns whether an external shuffle service serves the pool, also when its executor has ended. Only if the user
     * says so: once all executors of a host have been released, their pools stay there.
     */
    public boolean isServed() {
        return isTrue(SERVICE_KEY, false) && isTrue(ShuffleConfig.OUTLIVE_ENABLED.key(), false);
    }

    /**
     * Returns whether the driver keeps map outputs of executors that have ended. Without an external shuffle service
     * not without shared memory, and not where Spark would end idle executors for it.
     */
    public boolean keepsOutputs(ShuffleConfig config) {
        FabricMode mode = config.get(ShuffleConfig.FABRIC_MODE);
        boolean sharedMemory = mode == FabricMode.AUTO || mode == FabricMode.SHM;
        return config.get(ShuffleConfig.OUTLIVE_ENABLED)
                && (isServed() || (sharedMemory && !mayReleaseNeededExecutors()));
    }

    /**
     * Returns whether executors may be ended one after another until none is left on a host, or in the application, so
     * that outputs must be migrated although others of the host could serve them.
     */
    public boolean mayEndAllOfAHost() {
        boolean tracks = isTrue("spark.dynamicAllocation.shuffleTracking.enabled", true);
        return lookup.apply(FALLBACK_STORAGE_KEY) != null
                || (isTrue("spark.dynamicAllocation.enabled", false) && !tracks);
    }

    /**
     * Returns whether dynamic allocation is on without anything that keeps map outputs of idle executors. Spark refuses
     * that, unless it takes the storage of map outputs for reliable.
     */
    public boolean mayReleaseNeededExecutors() {
        boolean keeps = isTrue("spark.dynamicAllocation.shuffleTracking.enabled", true)
                || isTrue(SERVICE_KEY, false)
                || (isTrue("spark.decommission.enabled", false)
                        && isTrue("spark.storage.decommission.shuffleBlocks.enabled", true));
        return isTrue("spark.dynamicAllocation.enabled", false) && !keeps;
    }

    /** Returns the reason why blocks must not cross the network without encryption; empty if they may. */
    public Optional<String> reasonAgainstOpenBytes() {
        boolean encrypted = isTrue("spark.network.crypto.enabled", false)
                || isTrue("spark.authenticate.enableSaslEncryption", false)
                || isTrue("spark.ssl.rpc.enabled", false);
        return encrypted && !isTrue("spark.io.encryption.enabled", false)
                ? Optional.of("Spark encrypts its connections, and one-sided reads are not encrypted;"
                        + " spark.io.encryption.enabled=true encrypts the blocks themselves")
                : Optional.empty();
    }
}
