// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class HostLimitsTest {
    private static final OptionalLong NONE = OptionalLong.empty();
    private static final long MEBIBYTE = 1 << 20;

    private static PoolSettings cap(long bytes) {
        return new PoolSettings(Path.of("/dev/shm"), bytes, 0, bytes, false);
    }

    @Test
    void eachLimitNamesKeyValueAndWhatToRaise() {
        PoolSettings cap = cap(1000 * MEBIBYTE);
        assertThat(new HostLimits(999 * MEBIBYTE, NONE, NONE, 0, 0).directoryShortage(cap))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains(
                                "spark.shuffle.rdma.pool.maxSize=1000.0 MiB",
                                "999.0 MiB free in /dev/shm",
                                "--shm-size"));
        HostLimits container =
                new HostLimits(5000 * MEBIBYTE, OptionalLong.of(1500 * MEBIBYTE), NONE, 501 * MEBIBYTE, 0);
        assertThat(container.containerShortage(cap))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains(
                                "spark.shuffle.rdma.pool.maxSize=1000.0 MiB",
                                "heap of 501.0 MiB",
                                "limit of 1500.0 MiB",
                                "spark.executor.memoryOverhead"));
        assertThat(new HostLimits(5000 * MEBIBYTE, NONE, OptionalLong.of(999 * MEBIBYTE), 0, 0).pinShortage(cap, 1))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains(
                                "spark.shuffle.rdma.pool.maxSize=1000.0 MiB",
                                "RLIMIT_MEMLOCK is 999.0 MiB",
                                "ulimit -l"));
    }

    @Test
    void limitsThatAreMetExactlyAreMet() {
        HostLimits limits = new HostLimits(1000, OptionalLong.of(1500), OptionalLong.of(1000), 400, 100);
        assertThat(limits.directoryShortage(cap(1000))).isEmpty();
        assertThat(limits.containerShortage(cap(1000))).isEmpty();
        assertThat(limits.fitted(cap(1000), 1)).isEqualTo(cap(1000));
    }

    /** Registered with two ports, a page is charged twice. */
    @Test
    void lockedMemoryIsForEachPortAndForQueues() {
        HostLimits limits = new HostLimits(5000, NONE, OptionalLong.of(2000 + (64 << 20)), 0, 0);
        assertThat(limits.pinShortage(cap(1000), 2)).isEmpty();
        assertThat(limits.pinShortage(cap(1001), 2)).isPresent();
        assertThat(limits.pinShortage(cap(1000), 3)).isPresent();
        assertThat(limits.pinShortage(cap(9000), 0)).as("nothing is pinned").isEmpty();
        assertThat(new HostLimits(5000, NONE, NONE, 0, 0).pinShortage(cap(9000), 9))
                .as("no limit")
                .isEmpty();
    }

    @Test
    void offHeapAndPythonMemoryCount() {
        HostLimits limits =
                new HostLimits(5000 * MEBIBYTE, OptionalLong.of(1500 * MEBIBYTE), NONE, 400 * MEBIBYTE, 101 * MEBIBYTE);
        assertThat(limits.containerShortage(cap(1000 * MEBIBYTE)))
                .hasValueSatisfying(reason -> assertThat(reason).contains("400.0 MiB", "101.0 MiB"));
    }

    /** The JVM needs memory in addition to heap and pool. */
    @Test
    void poolIsHalfOfTheContainersFreeMemory() {
        HostLimits limits = new HostLimits(5000, OptionalLong.of(1500), NONE, 800, 100);
        PoolSettings fitted = limits.fitted(new PoolSettings(Path.of("/dev/shm"), 1000, 500, 1000, false), 1);
        assertThat(fitted.capBytes()).isEqualTo(300);
        assertThat(fitted.initialBytes()).isEqualTo(300);
        assertThat(new HostLimits(5000, OptionalLong.of(1500), NONE, 2000, 0)
                        .fitted(cap(1000), 1)
                        .capBytes())
                .isZero();
    }

    @Test
    void shortDirectoryIsShared() {
        PoolSettings wanted = new PoolSettings(Path.of("/dev/shm"), 1000, 400, 500, false);
        HostLimits limits = new HostLimits(640, NONE, NONE, 0, 0);
        assertThat(limits.fitted(wanted, 8)).isEqualTo(new PoolSettings(wanted.directory(), 1000, 40, 160, false));
        assertThat(limits.fitted(wanted, 100)).isEqualTo(new PoolSettings(wanted.directory(), 1000, 100, 160, false));
        assertThat(limits.fitted(new PoolSettings(wanted.directory(), 1000, 0, 500, false), 8))
                .as("one region at first")
                .isEqualTo(new PoolSettings(wanted.directory(), 1000, 40, 160, false));
        assertThat(limits.fitted(wanted, 2000)).isEqualTo(new PoolSettings(wanted.directory(), 1000, 400, 500, false));
        assertThat(new HostLimits(1000, NONE, NONE, 0, 0).fitted(wanted, 8)).isEqualTo(wanted);
    }

    @Test
    void limitsAreReadAsTheKernelWritesThem() {
        String header = "Limit                     Soft Limit           Hard Limit           Units     \n";
        assertThat(HostLimits.memlock(
                        header + "Max locked memory         8388608              16777216             bytes     \n"))
                .hasValue(8388608);
        assertThat(HostLimits.memlock(
                        header + "Max locked memory         unlimited            unlimited            bytes     \n"))
                .isEmpty();
        assertThatThrownBy(() -> HostLimits.memlock(header)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void ipcLockHasNoLimit() {
        String name = "Name:\tjava\n";
        assertThat(HostLimits.mayLockAnything(name + "CapEff:\t0000000000004000\n"))
                .isTrue();
        assertThat(HostLimits.mayLockAnything(name + "CapEff:\tffffffffffffffff\n"))
                .isTrue();
        assertThat(HostLimits.mayLockAnything(name + "CapEff:\tffffffffffffbfff\n"))
                .isFalse();
        assertThat(HostLimits.mayLockAnything(name + "CapEff:\t000000000000a000\n"))
                .isFalse();
        assertThat(HostLimits.mayLockAnything("CapPrm:\t0000000000004000\nCapEff:\t0000000000000000\n"))
                .as("the growth limit is not the current size")
                .isFalse();
        assertThat(HostLimits.mayLockAnything(name)).isFalse();
    }

    @Test
    void thisHostHasLimits() {
        HostLimits limits = HostLimits.read(cap(1000), 7);
        assertThat(limits.directoryFreeBytes()).isPositive();
        assertThat(limits.heapBytes()).isEqualTo(Runtime.getRuntime().maxMemory());
        assertThat(limits.otherBytes()).isEqualTo(7);
        PoolSettings nowhere = new PoolSettings(Path.of("/dev/shm/no-such-directory"), 1000, 0, 1000, false);
        assertThatThrownBy(() -> HostLimits.read(nowhere, 0))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("spark.shuffle.rdma.pool.directory");
    }
}
