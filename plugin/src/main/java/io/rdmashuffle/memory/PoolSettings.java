package io.rdmashuffle.memory;

import java.nio.file.Path;

/**
 * What a pool is made of.
 *
 * @param directory a tmpfs or hugetlbfs mount
 * @param capBytes hard cap of all regions together
 * @param initialBytes how much is mapped at start
 * @param regionBytes length of a region; the last one may be shorter
 * @param adviseHugepages whether to ask for transparent huge pages
 */
public record PoolSettings(
        Path directory, long capBytes, long initialBytes, long regionBytes, boolean adviseHugepages) {}
