// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Files;
import java.nio.file.Path;

/** Separate process that creates a region and prints its bytes in huge pages before any write. */
public final class HugepageRegion {
    private static final long BYTES = 64 << 20;

    private HugepageRegion() {}

    /** Takes the directory, and whether to ask for huge pages. */
    public static void main(String[] args) throws Exception {
        PoolSettings settings = new PoolSettings(Path.of(args[0]), BYTES, 0, BYTES, Boolean.parseBoolean(args[1]));
        try (RegionFactory factory = new RegionFactory(settings, region -> {})) {
            Region region = factory.create(0, BYTES, BYTES);
            Files.readString(Path.of("/proc/self/smaps_rollup"))
                    .lines()
                    .filter(line -> line.startsWith("ShmemPmdMapped:"))
                    .forEach(System.out::println);
            region.shared().close();
        }
    }
}
