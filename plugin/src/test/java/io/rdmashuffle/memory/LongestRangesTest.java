// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class LongestRangesTest {
    private static final int PAGE = 4096;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final LongestRanges ranges = new LongestRanges();

    @Test
    void findsTheTightestRegionOrElseTheLongest() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (Pool pool = Pool.create(new PoolSettings(directory, 12 * PAGE, 12 * PAGE, PAGE, false), region -> {})) {
            List<Region> regions = pool.regions();
            Map<Region, Long> model = new HashMap<>();
            for (int step = 0; step < 5_000; step++) {
                Region region = regions.get(random.nextInt(regions.size()));
                long bytes = random.nextInt(10);
                if (random.nextInt(5) == 0) {
                    ranges.remove(region);
                    model.remove(region);
                } else {
                    ranges.put(region, bytes);
                    model.put(region, bytes);
                }
                long wanted = 1L + random.nextInt(11);
                assertThat(ranges.regionFor(wanted)).as("seed %d", seed).isEqualTo(expected(model, wanted));
            }
        }
    }

    private static @Nullable Region expected(Map<Region, Long> model, long wanted) {
        Comparator<Map.Entry<Region, Long>> byLength = Map.Entry.comparingByValue();
        Comparator<Map.Entry<Region, Long>> byId =
                Comparator.comparingInt(entry -> entry.getKey().id());
        return model.entrySet().stream()
                .filter(entry -> entry.getValue() >= wanted)
                .min(byLength.thenComparing(byId))
                .or(() -> model.entrySet().stream()
                        .filter(entry -> entry.getValue() > 0)
                        .min(byLength.reversed().thenComparing(byId)))
                .map(Map.Entry::getKey)
                .orElse(null);
    }
}
