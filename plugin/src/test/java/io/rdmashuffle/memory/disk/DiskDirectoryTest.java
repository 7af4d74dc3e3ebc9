// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Several files of the disk tier in each directory. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DiskDirectoryTest {
    private static final int FILES = 6;

    @TempDir
    Path first;

    @TempDir
    Path second;

    private DiskTier tier = tier(0);

    private DiskTier tier(long minFreeBytes) {
        return new DiskTier(new DiskSettings(1 << 20, minFreeBytes, FILES), () -> List.of(first, second));
    }

    @AfterEach
    void close() {
        tier.close();
    }

    private Lease reserve(long bytes) {
        return Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, bytes, bytes), "no room on disk");
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    @Test
    void sixWritersInADirectoryWriteSixFiles() throws Exception {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 2 * FILES; i++) {
            leases.add(reserve(100));
        }
        assertThat(leases).extracting(lease -> lease.region().file()).doesNotHaveDuplicates();
        assertThat(leases).extracting(lease -> lease.region().id()).doesNotHaveDuplicates();
        assertThat(files(first)).hasSize(FILES);
        assertThat(files(second)).hasSize(FILES);
        assertThat(tier.directories()).containsExactly(first, second);
        for (Lease lease : leases) {
            int region = lease.region().id();
            assertThat(DiskTier.file(tier.directories(), tier.token(), region))
                    .isEqualTo(lease.region().file());
            assertThat(Objects.requireNonNull(tier.leased(region, 0, 4096)).path())
                    .isEqualTo(lease.region().file());
        }
        assertThat(tier.leased(Region.FIRST_ON_DISK + 2 * FILES, 0, 1)).isNull();
        leases.forEach(Lease::close);
        assertThat(tier.usage().fileBytes()).isZero();
        tier.close();
        assertThat(files(first)).isEmpty();
        assertThat(files(second)).isEmpty();
    }

    @Test
    void aFailedDirectoryIsRefusedWithAllItsFiles() {
        try (LoggedLines lines = LoggedLines.of(DiskDirectory.class);
                Lease failed = reserve(100)) {
            Path directory = Objects.requireNonNull(failed.region().file().getParent());
            tier.failed(failed.region(), new IOException("the disk is gone"));
            for (int i = 0; i < 2 * FILES; i++) {
                try (Lease other = reserve(100)) {
                    assertThat(other.region().file().getParent()).isNotEqualTo(directory);
                }
            }
            assertThat(lines.all()).singleElement().asString().contains(directory.toString());
        }
    }

    /** A directory was refused for its next file, although another file had released ranges. */
    @Test
    void freeRangesOfOtherFilesAreUsedOnAFullDisk() throws Exception {
        tier.close();
        long room = Files.getFileStore(first).getUsableSpace();
        DiskTierFile holder =
                new DiskTierFile(Region.FIRST_ON_DISK, first, first.resolve("holder"), new DiskSettings(1 << 20, 0, 2));
        DiskTierFile next = new DiskTierFile(
                Region.FIRST_ON_DISK + 1, first, first.resolve("next"), new DiskSettings(1 << 20, 2 * room, 2));
        try (DiskDirectory directory = new DiskDirectory(first, List.of(holder, next))) {
            Lease kept = Objects.requireNonNull(directory.reserve(Purpose.MAP_OUTPUT, 4096, 4096));
            Lease other = Objects.requireNonNull(directory.reserve(Purpose.MAP_OUTPUT, 4096, 4096));
            assertThat(kept.region()).isSameAs(other.region());
            assertThat(directory.reserve(Purpose.MAP_OUTPUT, 4096, 4096))
                    .as("the turn of the first file")
                    .isNotNull()
                    .satisfies(Lease::close);
            assertThat(directory.reserve(Purpose.MAP_OUTPUT, 1 << 30, 1 << 30))
                    .as("neither has as much")
                    .isNull();
            kept.close();
            other.close();
        }
    }
}
