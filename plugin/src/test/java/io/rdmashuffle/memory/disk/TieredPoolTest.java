// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** In which order the two tiers are asked. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class TieredPoolTest {
    private static final long POOL_BYTES = 8 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path local;

    private Pool memory;
    private TieredPool pool;

    @BeforeEach
    void open() {
        memory = TestPools.create(shm, POOL_BYTES, 4 << 20);
        pool = new TieredPool(memory, TestPools.diskTier(0, local));
    }

    @AfterEach
    void close() {
        memory.close();
        disk().close();
    }

    private DiskTier disk() {
        return Objects.requireNonNull(pool.disk());
    }

    private Lease reserve(long minimum, long preferred) throws InterruptedException {
        Lease lease = pool.reserve(Purpose.MAP_OUTPUT, minimum, preferred, WaitPolicy.NONE);
        return Objects.requireNonNull(lease, "both tiers are full");
    }

    private static boolean isOnDisk(Lease lease) {
        return Region.isOnDisk(lease.region().id());
    }

    @Test
    void memoryComesFirstAndThenTheDisk() throws Exception {
        try (Lease first = reserve(1 << 20, 1 << 20)) {
            assertThat(isOnDisk(first)).isFalse();
        }
        List<Lease> all = TestPools.fill(memory);
        try (Lease second = reserve(1 << 20, 1 << 20)) {
            assertThat(isOnDisk(second)).isTrue();
        }
        all.forEach(Lease::close);
    }

    @Test
    void usesFreeMemoryBeforeDisk() throws Exception {
        List<Lease> all = TestPools.fill(memory);
        Lease one = all.remove(0);
        long free = one.lengthBytes();
        one.close();
        try (Lease part = reserve(4096, 2 * free);
                Lease rest = reserve(4096, free)) {
            assertThat(isOnDisk(part)).isFalse();
            assertThat(part.lengthBytes()).isEqualTo(free);
            assertThat(isOnDisk(rest)).isTrue();
            assertThat(rest.lengthBytes()).isEqualTo(free);
        }
        all.forEach(Lease::close);
    }

    @Test
    void splitsWhatIsLongerThanARegion() throws Exception {
        try (Lease first = pool.reserve(Purpose.MAP_OUTPUT, 4096, POOL_BYTES, WaitPolicy.GROWTH);
                Lease second = pool.reserve(Purpose.MAP_OUTPUT, 4096, POOL_BYTES / 2, WaitPolicy.GROWTH)) {
            assertThat(first).isNotNull();
            assertThat(second).isNotNull();
            assertThat(first.region()).isNotSameAs(second.region());
            assertThat(first.lengthBytes() + second.lengthBytes()).isEqualTo(POOL_BYTES);
            assertThat(isOnDisk(first) || isOnDisk(second)).isFalse();
        }
    }

    /** The directory was given up once, because it had not all that was preferred. */
    @Test
    void ofAShortDiskIsTakenWhatItHas() throws Exception {
        long room = Files.getFileStore(local).getUsableSpace();
        disk().close();
        pool = new TieredPool(memory, TestPools.diskTier(room - (64 << 20), local));
        List<Lease> all = TestPools.fill(memory);
        try (Lease lease = reserve(4096, 1L << 40)) {
            assertThat(isOnDisk(lease)).isTrue();
            assertThat(lease.lengthBytes()).isBetween(4096L, 1L << 30);
        }
        try (Lease lease = reserve(4096, 4096)) {
            assertThat(isOnDisk(lease)).isTrue();
        }
        all.forEach(Lease::close);
    }

    @Test
    void fullDisksLeadToAPartialMemoryLease() throws Exception {
        disk().close();
        pool = new TieredPool(memory, TestPools.diskTier(Long.MAX_VALUE / 2, local));
        List<Lease> all = TestPools.fill(memory);
        Lease one = all.remove(0);
        long free = one.lengthBytes();
        one.close();
        assertThat(pool.reserve(Purpose.MAP_OUTPUT, 2 * free, 2 * free, WaitPolicy.NONE))
                .isNull();
        try (Lease lease = reserve(4096, 2 * free)) {
            assertThat(isOnDisk(lease)).isFalse();
            assertThat(lease.lengthBytes()).isEqualTo(free);
        }
        all.forEach(Lease::close);
    }

    @Test
    void withoutADiskMemoryIsAskedForAPart() throws Exception {
        TieredPool alone = TieredPool.of(memory);
        assertThat(alone.reserveOnDisk(Purpose.MAP_OUTPUT, 1)).isNull();
        try (Lease lease = alone.reserve(Purpose.MAP_OUTPUT, 4096, 1 << 30, WaitPolicy.NONE)) {
            assertThat(lease).isNotNull();
            assertThat(lease.lengthBytes()).isBetween(4096L, POOL_BYTES);
        }
        assertThatThrownBy(alone::lendBuffer)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no disk tier");
    }

    @Test
    void retiredBothTiersAreAsIfTheyWereFull() throws Exception {
        pool.retire();
        assertThat(pool.reserve(Purpose.MAP_OUTPUT, 1, 1, WaitPolicy.NONE)).isNull();
        assertThat(pool.reserveOnDisk(Purpose.MAP_OUTPUT, 1)).isNull();
    }

    @Test
    void afterAFailedWriteTheDirectoryIsGivenUpForAWhile() throws Exception {
        try (Lease inMemory = reserve(4096, 4096)) {
            pool.failed(inMemory.region(), new IOException("not of a disk"));
        }
        try (Lease lease = Objects.requireNonNull(pool.reserveOnDisk(Purpose.MAP_OUTPUT, 4096))) {
            pool.failed(lease.region(), new IOException("the disk is gone"));
            assertThat(pool.reserveOnDisk(Purpose.MAP_OUTPUT, 4096)).isNull();
        }
    }

    @Test
    void diskLeaseRoundTrip() throws Exception {
        byte[] content = {1, 2, 3, 4, 5};
        try (Lease inMemory = TestPools.reserve(memory, Purpose.MAP_OUTPUT, 4096);
                Lease onDisk = Objects.requireNonNull(pool.reserveOnDisk(Purpose.MAP_OUTPUT, 4096))) {
            inMemory.memory().putBytes(0, content, 0, 5);
            MemorySlice source = inMemory.memory().slice(0, 5);
            assertThat(pool.write(onDisk, 100, source)).isTrue();
            assertThat(TestPools.bytes(onDisk.bytes().slice(100, 5))).isEqualTo(content);
            assertThat(disk().pace()).isNotNull();
            assertThatThrownBy(() -> pool.write(inMemory, 0, source))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lies in memory");
        }
    }
}
