// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MapOutputTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(11);
    private Pool pool;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
    }

    @AfterEach
    void close() {
        assertThat(pool.usage().usedBytes()).isZero();
        pool.close();
    }

    @Test
    void leasesGoBackWithTheLastReaderAfterClose() throws Exception {
        MapOutput output = TestOutput.random(pool, 1, 5, 1000, random).output();
        assertThat(output.retain()).isTrue();
        output.close();
        output.close();
        assertThat(output.retain()).as("a reader may share its reference").isTrue();
        output.release();
        assertThat(pool.usage().usedBytes()).isPositive();
        output.release();
        assertThat(pool.usage().usedBytes()).isZero();
        assertThatThrownBy(output::release).isInstanceOf(IllegalStateException.class);
        assertThat(output.retain()).as("no references left").isFalse();
    }

    @Test
    void leasesGoBackOnCloseWhenReadersWereFaster() throws Exception {
        MapOutput output = TestOutput.random(pool, 1, 5, 1000, random).output();
        assertThat(output.retain()).isTrue();
        output.release();
        assertThat(pool.usage().usedBytes()).isPositive();
        output.close();
    }

    @Test
    void withoutRoomForTheIndexTheLeasesStayTheCallers() throws Exception {
        Lease data = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 64);
        List<Lease> rest = TestPools.fill(pool);
        MapOutput output = MapOutput.create(
                TieredPool.of(pool), 1, List.of(data), new long[] {10}, new long[] {10}, new int[] {0});
        assertThat(output).isNull();
        data.memory().putInt(0, 1);
        data.close();
        rest.forEach(Lease::close);
    }

    @Test
    void locationsSurviveEncodingAndGarbageDoesNot() throws Exception {
        DirectoryLocation location =
                new DirectoryLocation(new RemoteSlice(3, 4096, DirectoryLayout.tableBytes(100)), 100);
        byte[] encoded = location.encode();
        assertThat(DirectoryLocation.decode(encoded)).isEqualTo(location);
        List<byte[]> wrong = new ArrayList<>();
        for (int length = 0; length < encoded.length; length++) {
            wrong.add(Arrays.copyOf(encoded, length));
        }
        wrong.add(new byte[20]);
        wrong.add(Arrays.copyOf(encoded, 21));
        for (byte[] bytes : wrong) {
            assertThatThrownBy(() -> DirectoryLocation.decode(bytes)).isInstanceOf(DirectoryFormatException.class);
        }
        for (int round = 0; round < 10_000; round++) {
            byte[] damaged = encoded.clone();
            for (int i = 4; i < damaged.length; i++) {
                damaged[i] = (byte) random.nextInt();
            }
            try {
                assertThat(DirectoryLocation.decode(damaged).encode()).isEqualTo(damaged);
            } catch (DirectoryFormatException expected) {
                assertThat(expected).hasMessageContaining("damaged");
            }
        }
    }
}
