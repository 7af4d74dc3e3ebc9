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

    private static PoolSettings cap(long bytes) {
        return new PoolSettings(Path.of("/dev/shm"), bytes, 0, bytes, false);
    }

    @Test
    void eachLimitNamesKeyValueAndWhatToRaise() {
        assertThatThrownBy(() -> new HostLimits(999, NONE, NONE, 0).check(cap(1000), false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("spark.shuffle.rdma.pool.maxSize=1000", "999", "/dev/shm", "--shm-size");
        assertThatThrownBy(() -> new HostLimits(5000, OptionalLong.of(1500), NONE, 501).check(cap(1000), false))
                .hasMessageContainingAll(
                        "spark.shuffle.rdma.pool.maxSize=1000", "501", "1500", "spark.executor.memoryOverhead");
        assertThatThrownBy(() -> new HostLimits(5000, NONE, OptionalLong.of(999), 0).check(cap(1000), true))
                .hasMessageContainingAll("spark.shuffle.rdma.pool.maxSize=1000", "RLIMIT_MEMLOCK", "999", "ulimit -l");
    }

    @Test
    void limitsThatAreMetExactlyAreMet() {
        new HostLimits(1000, OptionalLong.of(1500), OptionalLong.of(1000), 500).check(cap(1000), true);
        new HostLimits(1000, NONE, OptionalLong.of(1), 500).check(cap(1000), false);
    }

    @Test
    void limitsAreReadAsTheKernelWritesThem() {
        assertThat(HostLimits.containerLimit("max\n")).isEmpty();
        assertThat(HostLimits.containerLimit("9223372036854771712\n")).isEmpty();
        assertThat(HostLimits.containerLimit("1073741824\n")).hasValue(1L << 30);
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
    void thisHostHasLimits() {
        HostLimits limits = HostLimits.read(Path.of("/dev/shm"));
        assertThat(limits.directoryFreeBytes()).isPositive();
        assertThat(limits.heapBytes()).isEqualTo(Runtime.getRuntime().maxMemory());
        assertThatThrownBy(() -> HostLimits.read(Path.of("/dev/shm/no-such-directory")))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("spark.shuffle.rdma.pool.directory");
    }
}
