// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.FileSlice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of output buffers of the disk tier, and of sums over its files. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class OutputBufferTest {
    private static final int MANY = 40;

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path first;

    @TempDir
    Path second;

    private Pool memory;
    private DiskTier tier;
    private TieredPool pool;

    @BeforeEach
    void open() {
        memory = TestPools.create(shm, 1 << 20, 1 << 20);
        tier = TestPools.diskTier(0, first, second);
        pool = new TieredPool(memory, tier);
    }

    @AfterEach
    void close() {
        tier.close();
        memory.close();
    }

    @Test
    void aBufferIsLentToOneAndThenToTheNext() {
        long address;
        try (OutputBuffer buffer = pool.lendBuffer();
                OutputBuffer other = pool.lendBuffer()) {
            assertThat(buffer.memory().lengthBytes()).isEqualTo(DiskTier.BUFFER_BYTES);
            assertThat(other.memory().address()).isNotEqualTo(buffer.memory().address());
            buffer.memory().putLong(DiskTier.BUFFER_BYTES - 8, 7);
            address = other.memory().address();
        }
        try (OutputBuffer again = pool.lendBuffer()) {
            assertThat(again.memory().address()).isEqualTo(address);
        }
    }

    @Test
    void surplusBuffersAreFreed() {
        List<NativeBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            buffers.add(tier.takeBuffer());
        }
        buffers.forEach(tier::returnBuffer);
        assertThat(buffers).filteredOn(NativeBuffer::isClosed).hasSizeBetween(1, MANY - 1);
        tier.close();
        assertThat(buffers).allMatch(NativeBuffer::isClosed);
    }

    @Test
    void usageIsThatOfAllFiles() {
        assertThat(tier.usage()).isEqualTo(DiskUsage.NONE);
        Lease one = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1, 1));
        Lease two = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1, 8192));
        assertThat(one.region()).isNotSameAs(two.region());
        assertThat(tier.usage()).isEqualTo(new DiskUsage(2 << 20, 12_288, 12_288, 2));
        one.close();
        assertThat(tier.usage()).isEqualTo(new DiskUsage(1 << 20, 8192, 12_288, 1));
        two.close();
    }

    @Test
    void peersAreGivenWhatIsLeasedInARegionOfTheTier() {
        assertThat(tier.leased(Region.FIRST_ON_DISK, 0, 1)).isNull();
        Lease one = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1, 1));
        Lease two = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1, 1));
        for (Lease lease : List.of(one, two)) {
            int region = lease.region().id();
            FileSlice bytes = Objects.requireNonNull(tier.leased(region, 5, 100));
            assertThat(bytes.path()).isEqualTo(lease.region().file());
            assertThat(bytes.path()).isEqualTo(DiskTier.file(tier.directories(), tier.token(), region));
            assertThat(tier.leased(region, 0, 4097)).isNull();
        }
        assertThat(tier.leased(Region.FIRST_ON_DISK - 1, 0, 1)).isNull();
        assertThat(tier.leased(Region.FIRST_ON_DISK + 2, 0, 1)).isNull();
        assertThat(tier.leased(0, 0, 1)).isNull();
        assertThat(Region.isOnDisk(Region.FIRST_ON_DISK)).isTrue();
        assertThat(Region.isOnDisk(Region.FIRST_ON_DISK - 1)).isFalse();
        one.close();
        two.close();
    }

    @Test
    void unusedTierNeverResolvesDirectories() {
        DiskTier retired = new DiskTier(new DiskSettings(1 << 20, 0, 1), () -> {
            throw new AssertionError("asked for directories");
        });
        assertThat(retired.usage()).isEqualTo(DiskUsage.NONE);
        assertThat(retired.leased(Region.FIRST_ON_DISK, 0, 1)).isNull();
        retired.retire();
        assertThat(retired.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(retired.directories()).isEmpty();
        retired.close();
    }

    @Test
    void timesOfWritesTellThePaceOfTheDisk() throws Exception {
        Lease source = TestPools.reserve(memory, Purpose.MAP_OUTPUT, 1 << 20);
        Lease target = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1 << 20, 1 << 20));
        assertThat(tier.pace().nanosPerByte()).isZero();
        for (int i = 0; i < 16; i++) {
            assertThat(pool.write(target, 0, source.memory())).isTrue();
        }
        double longest = (double) Duration.ofSeconds(60).toNanos() / (16 << 20);
        assertThat(tier.pace().nanosPerByte()).as("within this test").isBetween(Double.MIN_VALUE, longest);
        source.close();
        target.close();
    }
}
