// SPDX-License-Identifier: Apache-2.0
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

    private PoolRules() {}

    /** The room, as {@code what} names it in messages, must hold the directory's slots. */
    static Rule<Integer, Long> directoryIn(String what, ConfigEntry<Integer> slots, ConfigEntry<Long> room) {
        return new Rule<>(
                slots,
                room,
                PoolRules::holdsDirectory,
                what + " must hold a directory of 64 bytes for each shuffle and 64 more");
    }

    /** A pool must not be cut into more regions than a process may map. */
    static Rule<Long, Long> countOfRegions(ConfigEntry<Long> regionSize, ConfigEntry<Long> maxSize) {
        return new Rule<>(
                regionSize,
                maxSize,
                (regionBytes, maxBytes) -> maxBytes <= MAX_REGIONS * regionBytes,
                "a pool has at most " + MAX_REGIONS + " regions: raise the size of a region");
    }

    private static boolean holdsDirectory(int slots, long bytes) {
        return SLOT_BYTES * (1L + slots) <= bytes;
    }
}
