package io.rdmashuffle.conf;

import io.rdmashuffle.conf.ConfigReader.Rule;

/**
 * What the keys of the pool demand of one another beyond one not being above the other.
 *
 * <p><b>Threading:</b> stateless.
 */
final class PoolRules {
    /** Bytes of a slot of the directory, and of its header. */
    private static final long SLOT_BYTES = 64;

    /** Each region is a mapping, of which Linux allows a process 65,530 (vm.max_map_count), and a registration. */
    private static final long MAX_REGIONS = 1 << 16;

    static final Rule<Integer, Long> DIRECTORY_IN_REGION = new Rule<>(
            ShuffleConfig.DIRECTORY_MAX_SHUFFLES,
            ShuffleConfig.POOL_REGION_SIZE,
            PoolRules::holdsDirectory,
            "a region must hold a directory of 64 bytes for each shuffle and 64 more");

    static final Rule<Integer, Long> DIRECTORY_IN_POOL = new Rule<>(
            ShuffleConfig.DIRECTORY_MAX_SHUFFLES,
            ShuffleConfig.POOL_MAX_SIZE,
            PoolRules::holdsDirectory,
            "the pool must hold a directory of 64 bytes for each shuffle and 64 more");

    static final Rule<Long, Long> REGIONS_OF_POOL = new Rule<>(
            ShuffleConfig.POOL_REGION_SIZE,
            ShuffleConfig.POOL_MAX_SIZE,
            (regionBytes, maxBytes) -> maxBytes <= MAX_REGIONS * regionBytes,
            "a pool has at most " + MAX_REGIONS + " regions: raise the size of a region");

    private PoolRules() {}

    private static boolean holdsDirectory(int slots, long bytes) {
        return SLOT_BYTES * (1L + slots) <= bytes;
    }
}
