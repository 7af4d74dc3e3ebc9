// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.memory.slice.FileIdentity;
import io.rdmashuffle.memory.slice.Mapping;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RegionFactoryTest {
    private static final long PAGE = 4096;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<String> told = new ArrayList<>();

    private PoolSettings settings(long capBytes, long regionBytes, boolean hugepages) {
        return new PoolSettings(directory, capBytes, 0, regionBytes, hugepages);
    }

    /** Records events, and whether the file exists. */
    private final class Listener implements RegionListener {
        private boolean failing;

        @Override
        public void regionAdded(Region region) {
            told.add("+" + region.id() + " " + Files.exists(region.file()));
            if (failing) {
                throw new IllegalStateException("no device");
            }
        }

        @Override
        public void regionRemoved(Region region) {
            told.add("-" + region.id() + " " + region.memory().getLong(0) + " " + Files.exists(region.file()));
            if (failing) {
                throw new IllegalStateException("busy");
            }
        }
    }

    @Test
    void aRegionIsAsLongAsThePoolMayGrowInWholePages() {
        try (RegionFactory factory = new RegionFactory(settings(10 * PAGE + 1, 4 * PAGE + 1, false), region -> {})) {
            assertThat(factory.pageBytes()).isEqualTo(PAGE);
            assertThat(factory.nextBytes(0)).isEqualTo(4 * PAGE);
            assertThat(factory.nextBytes(6 * PAGE)).isEqualTo(4 * PAGE);
            assertThat(factory.nextBytes(7 * PAGE)).isEqualTo(3 * PAGE);
            assertThat(factory.nextBytes(9 * PAGE + 1)).isEqualTo(PAGE);
            assertThat(factory.nextBytes(9 * PAGE + 2)).isZero();
            assertThat(factory.nextBytes(10 * PAGE)).isZero();
        }
    }

    @Test
    void thoseWhoUseARegionAreToldBeforeItIsGone() {
        try (RegionFactory factory = new RegionFactory(settings(10 * PAGE, 4 * PAGE, false), new Listener())) {
            Region first = factory.create(0, PAGE, PAGE);
            Region second = factory.create(1, 2 * PAGE, PAGE);
            assertThat(second.memory().lengthBytes()).isEqualTo(2 * PAGE);
            assertThat(second.id()).isOne();
            second.memory().putLong(0, 7);
            long mappings = Mapping.live();
            factory.remove(second);
            assertThat(told).containsExactly("+0 true", "+1 true", "-1 7 true");
            assertThat(second.file()).doesNotExist();
            assertThat(Mapping.live()).isEqualTo(mappings - 1);
            assertThat(first.file()).exists();
            first.shared().close();
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void regionThatCannotBeReleasedIsKept() {
        Listener listener = new Listener();
        try (RegionFactory factory = new RegionFactory(settings(10 * PAGE, 4 * PAGE, false), listener)) {
            Region region = factory.create(0, PAGE, PAGE);
            listener.failing = true;
            assertThatThrownBy(() -> factory.remove(region)).hasMessage("busy");
            assertThat(region.file()).exists();
            region.memory().putLong(0, 1);
            region.shared().close();
        }
    }

    @Test
    void failedRegistrationLeavesNothing() throws IOException {
        Listener listener = new Listener();
        try (RegionFactory factory = new RegionFactory(settings(10 * PAGE, 4 * PAGE, false), listener)) {
            listener.failing = true;
            long mappings = Mapping.live();
            assertThatThrownBy(() -> factory.create(0, PAGE, PAGE)).hasMessage("no device");
            assertThat(Mapping.live()).isEqualTo(mappings);
            assertThat(TestPools.files(directory)).isEmpty();
            listener.failing = false;
            Region again = factory.create(0, PAGE, PAGE);
            assertThat(Files.size(again.file())).isEqualTo(PAGE);
            again.shared().close();
        }
    }

    /** The file system may have none, which is no failure. */
    @Test
    void hugePagesAreAdvice() {
        try (RegionFactory factory = new RegionFactory(settings(10 * PAGE, 4 * PAGE, true), region -> {})) {
            Region region = factory.create(0, PAGE, PAGE);
            region.memory().putLong(0, 7);
            region.shared().close();
        }
    }

    @Test
    void aDirectoryThatIsNotThereIsNamedWithItsKey() {
        PoolSettings nowhere = new PoolSettings(directory.resolve("none"), PAGE, 0, PAGE, false);
        assertThatThrownBy(nowhere::pageBytes)
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContainingAll(directory.resolve("none").toString(), "spark.shuffle.rdma.pool.directory");
        assertThatThrownBy(nowhere::freeBytes)
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("spark.shuffle.rdma.pool.directory");
        assertThat(settings(PAGE, PAGE, false).freeBytes()).isPositive();
    }

    @Test
    void filesAreToldApartByWhatTheyAreAndNotByTheirNames() throws IOException {
        Path one = Files.createFile(directory.resolve("one"));
        Path other = Files.createFile(directory.resolve("other"));
        Path link = Files.createSymbolicLink(directory.resolve("link"), one);
        FileIdentity identity = FileIdentity.of(one);
        assertThat(identity.inode()).isPositive();
        assertThat(identity.device()).isEqualTo(FileIdentity.of(other).device()).isPositive();
        assertThat(FileIdentity.of(link)).isEqualTo(identity);
        assertThat(FileIdentity.of(other)).isNotEqualTo(identity);
    }
}
