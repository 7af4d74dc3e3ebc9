// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Pools on hosts that have less than they should. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PoolStartTest {
    private static final long MIB = 1 << 20;
    private static final long PAGE = 4096;
    /** tmpfs immediately refuses files longer than the file system. */
    private static final long TOO_LONG = 1L << 50;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<String> shortages = new ArrayList<>();

    private PoolSettings settings(Path where, long initialBytes) {
        return new PoolSettings(where, 4 * MIB, initialBytes, MIB, false);
    }

    private RegionFactory factory(long... freeBytes) {
        PoolSettings huge = new PoolSettings(directory, TOO_LONG, 0, TOO_LONG, false);
        PrimitiveIterator.OfLong free = LongStream.of(freeBytes).iterator();
        return new RegionFactory(huge, region -> {}, free::nextLong);
    }

    private static void assertLength(Region region, long bytes) {
        assertThat(region.memory().lengthBytes()).isEqualTo(bytes);
        region.shared().close();
    }

    @Test
    void aRegionIsClippedToWhatIsFree() {
        try (RegionFactory factory = factory(5 * PAGE + 100, 5 * PAGE)) {
            assertLength(factory.create(0, 8 * PAGE, 4 * PAGE), 5 * PAGE);
            assertLength(factory.create(1, 3 * PAGE, PAGE), 3 * PAGE);
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void startsSmallerWhenOthersTookTheMemory() {
        try (RegionFactory factory = factory(TOO_LONG, 2 * PAGE)) {
            assertLength(factory.create(0, TOO_LONG, PAGE), 2 * PAGE);
        }
        try (RegionFactory factory = factory(TOO_LONG, TOO_LONG, TOO_LONG)) {
            assertThatThrownBy(() -> factory.create(0, TOO_LONG, TOO_LONG / 4))
                    .isInstanceOfSatisfying(
                            NativeException.class,
                            e -> assertThat(Errno.ENOSPC.is(e.errno())).isTrue());
        }
        try (RegionFactory factory = factory(PAGE)) {
            assertThatThrownBy(() -> factory.create(0, TOO_LONG, 2 * PAGE))
                    .as("the rest is too small for a region")
                    .isInstanceOf(NativeException.class);
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void halvesTheRegionUntilItFits() {
        try (RegionFactory factory = factory(TOO_LONG, 2 * PAGE)) {
            assertLength(factory.create(0, TOO_LONG, 2 * PAGE), 2 * PAGE);
        }
        AtomicInteger looks = new AtomicInteger();
        PoolSettings huge = new PoolSettings(directory, TOO_LONG, 0, TOO_LONG, false);
        LongSupplier free = () -> {
            looks.incrementAndGet();
            return TOO_LONG;
        };
        try (RegionFactory factory = new RegionFactory(huge, region -> {}, free)) {
            assertThatThrownBy(() -> factory.create(0, TOO_LONG, TOO_LONG / 2)).isInstanceOf(NativeException.class);
        }
        assertThat(looks).as("once for all and once for half").hasValue(2);
    }

    @Test
    void itIsSaidOnceThatAPoolCannotGrow() throws Exception {
        RegionListener refusing = region -> {
            if (region.id() > 0) {
                throw new NativeException("ibv_reg_mr(length=1048576)", Errno.ENOMEM.number(), "raise RLIMIT_MEMLOCK");
            }
        };
        try (LoggedLines lines = LoggedLines.of(Pool.class);
                Pool pool = Pool.create(settings(directory, 0), refusing)) {
            Lease all = TestPools.reserve(pool, Purpose.RECEIVE, MIB);
            assertThat(pool.reserve(Purpose.RECEIVE, MIB, MIB, WaitPolicy.GROWTH))
                    .isNull();
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, WaitPolicy.GROWTH))
                    .isNull();
            assertThat(lines.all())
                    .singleElement()
                    .asString()
                    .contains("Cannot grow the pool", "stays at 1.0 MiB", "spark.shuffle.rdma.pool.maxSize is 4.0 MiB");
            all.close();
        }
    }

    @Test
    void aDeviceThatRefusesALaterRegionLeavesThoseBefore() throws Exception {
        RegionListener refusing = region -> {
            if (region.id() == 2) {
                throw new NativeException("ibv_reg_mr(length=1048576)", Errno.ENOMEM.number(), "raise RLIMIT_MEMLOCK");
            }
        };
        assertThatThrownBy(() -> Pool.create(settings(directory, 4 * MIB), refusing))
                .isInstanceOf(NativeException.class);
        try (Pool pool = Pool.createWhatFits(settings(directory, 4 * MIB), refusing, shortages::add)) {
            assertThat(shortages).singleElement().asString().contains("RLIMIT_MEMLOCK");
            assertThat(pool.usage().capacityBytes()).isEqualTo(2 * MIB);
            assertThat(pool.usage().capBytes()).as("actual size").isEqualTo(2 * MIB);
            List<Lease> all = TestPools.fill(pool);
            assertThat(pool.usage().usedBytes()).isEqualTo(2 * MIB);
            all.forEach(Lease::close);
        }
    }

    @Test
    void poolWithoutMemoryRefusesLeases() throws Exception {
        Path nowhere = directory.resolve("missing");
        assertThatThrownBy(() -> Pool.create(settings(nowhere, MIB), region -> {}))
                .hasMessageContaining("spark.shuffle.rdma.pool.directory");
        RegionListener none = region -> {
            throw new AssertionError("no region");
        };
        for (PoolSettings settings :
                List.of(settings(nowhere, MIB), settings(directory, MIB).withCap(PAGE - 1))) {
            shortages.clear();
            try (Pool pool = Pool.createWhatFits(settings, none, shortages::add)) {
                assertThat(shortages).singleElement().asString().contains("spark.shuffle.rdma.pool");
                pool.setAside(MIB, 0);
                for (Purpose purpose : Purpose.values()) {
                    assertThat(pool.reserve(purpose, 1, MIB, Duration.ofSeconds(50)))
                            .isNull();
                }
                assertThat(pool.usage().capBytes()).isZero();
                assertThat(pool.regions()).isEmpty();
            }
        }
        assertThat(directory).isEmptyDirectory();
    }
}
