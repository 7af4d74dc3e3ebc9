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

    /** Most regions that a pool has unless the largest size bounds them: few registrations, little left of each. */
    private static final long REGIONS = 32;

    /** Growth by this takes 50 to 100 ms. */
    private static final long LEAST_REGION_BYTES = 256L << 20;

    /** A pool of 400 GB has 50 such regions; one is cleared and pinned at about 1 GB/s. */
    private static final long LARGEST_REGION_BYTES = 8L << 30;

    /** Of regions that follow from the cap: a card's pages are 2 MB at best. */
    private static final long REGION_UNIT = 2L << 20;

    private PoolRules() {}

    /** Returns the size of regions in a pool of {@code maxBytes} where the user has set none. */
    static long regionBytes(long maxBytes) {
        long share = (maxBytes / REGIONS + REGION_UNIT - 1) / REGION_UNIT * REGION_UNIT;
        long bounded = Math.min(Math.max(share, LEAST_REGION_BYTES), LARGEST_REGION_BYTES);
        return Math.max(bounded, maxBytes / MAX_REGIONS);
    }

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
