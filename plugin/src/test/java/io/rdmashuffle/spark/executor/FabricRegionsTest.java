// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of fabrics that refuse a region. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class FabricRegionsTest {
    private static final long REGION_BYTES = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final FakeFabric sound = new FakeFabric(1);

    private Pool pool(List<Fabric> fabrics) {
        FabricRegions regions = new FabricRegions(FabricMode.AUTO, fabrics, why -> {});
        return TestPools.create(directory, 4 * REGION_BYTES, REGION_BYTES, regions);
    }

    @Test
    void oneThatRefusesTheFirstIsNotUsed() throws Exception {
        FakeFabric refusing = new FakeFabric(1).refusing(0);
        List<Fabric> fabrics = new ArrayList<>(List.of(refusing, sound));
        try (Pool pool = pool(fabrics)) {
            assertThat(fabrics).containsExactly(sound);
            assertThat(refusing.closed()).isTrue();
            assertThat(TestPools.fillable(pool)).isEqualTo(4 * REGION_BYTES);
            assertThat(sound.regions()).containsExactly(0, 1, 2, 3);
        }
    }

    @Test
    void oneThatRefusesALaterOneIsUsedForThoseBefore() throws Exception {
        FakeFabric refusing = new FakeFabric(1).refusing(2);
        List<Fabric> fabrics = new ArrayList<>(List.of(sound, refusing));
        try (Pool pool = pool(fabrics)) {
            assertThat(TestPools.fillable(pool)).isEqualTo(2 * REGION_BYTES);
            assertThat(fabrics).containsExactly(sound, refusing);
            assertThat(refusing.closed()).isFalse();
            assertThat(refusing.regions()).containsExactly(0, 1);
            assertThat(sound.regions()).as("none that is unmapped").containsExactly(0, 1);
        }
    }
}
