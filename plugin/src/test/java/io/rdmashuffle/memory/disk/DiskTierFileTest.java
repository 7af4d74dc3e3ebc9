// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** One file of the tier: which bytes are leased, and how long the file is. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DiskTierFileTest {
    private static final long PAGE = 4096;
    private static final long GROWTH = 16 * PAGE;
    private static final int REGION = Region.FIRST_ON_DISK + 3;

    @TempDir
    Path directory;

    private Path path;
    private DiskTierFile file;
    private DiskDirectory directoryOfFile;

    @BeforeEach
    void open() {
        path = directory.resolve("file");
        open(0);
    }

    private void open(long minFreeBytes) {
        file = new DiskTierFile(REGION, directory, path, new DiskSettings(GROWTH, minFreeBytes, 1));
        directoryOfFile = new DiskDirectory(directory, List.of(file));
    }

    @AfterEach
    void close() {
        file.close();
    }

    private Lease reserve(long minimum, long preferred) {
        Lease lease = directoryOfFile.reserve(Purpose.MAP_OUTPUT, minimum, preferred);
        return Objects.requireNonNull(lease, "no room on disk");
    }

    private void assertUsage(long fileBytes, long usedBytes, long peakBytes, int leases) throws IOException {
        assertThat(file.usage()).isEqualTo(new DiskUsage(fileBytes, usedBytes, peakBytes, leases));
        assertThat(Files.size(path)).isEqualTo(fileBytes);
    }

    /** Fills a lease with ones and returns a place to read it later, whoever has it then. */
    private static FileSlice filled(Lease lease) throws IOException {
        FileSlice place = (FileSlice) lease.bytes();
        byte[] ones = new byte[(int) lease.lengthBytes()];
        Arrays.fill(ones, (byte) 1);
        try (NativeBuffer buffer = new NativeBuffer(ones.length)) {
            buffer.putBytes(0, ones, 0, ones.length);
            place.write(new MemorySlice(buffer.address(), ones.length));
        }
        return place;
    }

    @Test
    void leasesAreWholePages() {
        try (Lease none = reserve(0, 0);
                Lease one = reserve(1, 1);
                Lease page = reserve(1, PAGE);
                Lease more = reserve(1, PAGE + 1);
                Lease least = reserve(PAGE + 1, 1)) {
            assertThat(Stream.of(none, one, page, more, least).map(Lease::lengthBytes))
                    .containsExactly(PAGE, PAGE, PAGE, 2 * PAGE, 2 * PAGE);
            assertThat(Stream.of(none, one, page, more, least).map(Lease::offset))
                    .containsExactly(0L, PAGE, 2 * PAGE, 3 * PAGE, 5 * PAGE);
            assertThat(more.purpose()).isEqualTo(Purpose.MAP_OUTPUT);
            assertThat(more.region().id()).isEqualTo(REGION);
        }
    }

    @Test
    void theFileGrowsByItsUnitOrByWhatIsWantedIfThatIsMore() throws Exception {
        assertThat(path).doesNotExist();
        Lease small = reserve(1, 1);
        assertUsage(GROWTH, PAGE, PAGE, 1);
        Lease rest = reserve(1, GROWTH - PAGE);
        assertUsage(GROWTH, GROWTH, GROWTH, 2);
        Lease next = reserve(1, 1);
        assertThat(next.offset()).isEqualTo(GROWTH);
        assertUsage(2 * GROWTH, GROWTH + PAGE, GROWTH + PAGE, 3);
        Lease large = reserve(1, 3 * GROWTH);
        assertThat(large.lengthBytes()).isEqualTo(3 * GROWTH);
        assertUsage(5 * GROWTH, 4 * GROWTH + PAGE, 4 * GROWTH + PAGE, 4);
        Stream.of(small, rest, next, large).forEach(Lease::close);
        assertUsage(0, 0, 4 * GROWTH + PAGE, 0);
    }

    @Test
    void anEmptyFileStartsAnew() throws Exception {
        reserve(1, 3 * GROWTH).close();
        assertUsage(0, 0, 3 * GROWTH, 0);
        try (Lease again = reserve(1, 2 * PAGE)) {
            assertThat(again.offset()).isZero();
            assertUsage(GROWTH, 2 * PAGE, 3 * GROWTH, 1);
        }
    }

    @Test
    void onlyWhatIsLeasedAsAWholeIsFound() throws Exception {
        assertThat(file.leased(0, PAGE)).as("there is no file").isNull();
        Lease first = reserve(1, 2 * PAGE);
        Lease second = reserve(1, 2 * PAGE);
        Lease third = reserve(1, GROWTH - 4 * PAGE);
        assertThat(file.leased(0, GROWTH)).isNotNull();
        assertThat(file.leased(GROWTH - 1, 1)).isNotNull();
        assertThat(file.leased(GROWTH - 1, 2)).isNull();
        assertThat(file.leased(1, GROWTH)).isNull();
        assertThat(file.leased(0, GROWTH + 1)).isNull();
        assertThat(file.leased(0, 0)).isNull();
        assertThat(file.leased(PAGE, -1)).isNull();
        assertThat(file.leased(-1, 2)).isNull();
        assertThat(file.leased(Long.MAX_VALUE, 1)).isNull();
        assertThat(file.leased(1, Long.MAX_VALUE)).isNull();
        assertThat(file.leased(Long.MAX_VALUE, Long.MAX_VALUE)).isNull();
        second.close();
        assertThat(file.leased(2 * PAGE, 1)).isNull();
        assertThat(file.leased(2 * PAGE - 1, 2)).isNull();
        assertThat(file.leased(4 * PAGE - 1, 2)).isNull();
        FileSlice before = Objects.requireNonNull(file.leased(5, 2 * PAGE - 5));
        assertThat(before.offset()).isEqualTo(5);
        assertThat(before.lengthBytes()).isEqualTo(2 * PAGE - 5);
        assertThat(before.path()).isEqualTo(path);
        assertThat(file.leased(4 * PAGE, GROWTH - 4 * PAGE)).isNotNull();
        first.close();
        third.close();
        assertThat(file.leased(0, 1)).as("the file is empty").isNull();
    }

    @Test
    void aLeaseGrowsIntoWhatIsFreeBehindItAndCounts() throws Exception {
        try (Lease lease = reserve(1, PAGE)) {
            assertThat(lease.extend(1)).isEqualTo(PAGE);
            assertUsage(GROWTH, 2 * PAGE, 2 * PAGE, 1);
            assertThat(file.leased(0, 2 * PAGE)).isNotNull();
            assertThat(file.leased(0, 2 * PAGE + 1)).isNull();
            try (Lease neighbour = reserve(1, PAGE)) {
                assertThat(neighbour.offset()).isEqualTo(2 * PAGE);
                assertThat(lease.extend(PAGE)).isZero();
                assertThat(lease.lengthBytes()).isEqualTo(2 * PAGE);
                assertThat(neighbour.extend(GROWTH))
                        .as("to the end of the file")
                        .isEqualTo(GROWTH - 3 * PAGE);
                assertUsage(GROWTH, GROWTH, GROWTH, 2);
            }
        }
    }

    @Test
    void theEndOfALeaseIsLeasedAgain() throws Exception {
        try (Lease lease = reserve(1, GROWTH)) {
            lease.trim(PAGE + 1);
            assertThat(lease.lengthBytes()).isEqualTo(2 * PAGE);
            assertUsage(GROWTH, 2 * PAGE, GROWTH, 1);
            assertThat(file.leased(0, 2 * PAGE)).isNotNull();
            assertThat(file.leased(2 * PAGE, 1)).isNull();
            try (Lease other = reserve(1, GROWTH - 2 * PAGE)) {
                assertThat(other.offset()).isEqualTo(2 * PAGE);
                assertUsage(GROWTH, GROWTH, GROWTH, 2);
            }
            lease.trim(0);
            assertThat(lease.lengthBytes()).as("a page stays").isEqualTo(PAGE);
            assertUsage(GROWTH, PAGE, GROWTH, 1);
        }
    }

    /** Bytes of the lease before would be written to disk for nothing. */
    @Test
    void freedRangesReturnToTheFileSystem() throws Exception {
        Lease kept = reserve(1, 2 * PAGE);
        FileSlice stays = filled(kept);
        Lease freed = reserve(1, 2 * PAGE);
        FileSlice goes = filled(freed);
        freed.close();
        assertThat(TestPools.bytes(goes)).hasSize((int) (2 * PAGE)).containsOnly(0);
        assertThat(TestPools.bytes(stays)).hasSize((int) (2 * PAGE)).containsOnly(1);
        kept.close();
    }

    @Test
    void failurePausesLeasesWithOneWarning() throws Exception {
        try (LoggedLines lines = LoggedLines.of(DiskDirectory.class);
                Lease lease = reserve(1, PAGE)) {
            directoryOfFile.refuse(new IOException("the disk is gone"));
            assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1))
                    .as("there is room")
                    .isNull();
            assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 2 * GROWTH))
                    .isNull();
            directoryOfFile.refuse(new IOException("the disk is gone"));
            assertUsage(GROWTH, PAGE, PAGE, 1);
            assertThat(file.leased(0, PAGE)).as("leased ranges stay").isNotNull();
            assertThat(lines.all())
                    .singleElement()
                    .asString()
                    .contains(directory.toString(), "spark.shuffle.rdma.disk.enabled");
            assertThat(lease.extend(1)).isEqualTo(PAGE);
        }
    }

    @Test
    void refusedLeaseCreatesNoFile() {
        directoryOfFile.refuse(new IOException("the disk is gone"));
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(path).doesNotExist();
    }

    @Test
    void aFileOfThatNameIsNotTouched() throws Exception {
        Files.writeString(path, "of another program");
        try (LoggedLines lines = LoggedLines.of(DiskDirectory.class)) {
            assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
            assertThat(lines.all()).hasSize(1);
        }
        file.close();
        assertThat(path).hasContent("of another program");
    }

    @Test
    void aDiskThatIsTooShortIsGivenUpForAWhile() throws Exception {
        long room = Files.getFileStore(directory).getUsableSpace();
        // Other processes use the file system too.
        open(room / 2);
        try (LoggedLines lines = LoggedLines.of(DiskDirectory.class)) {
            assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, room, room)).isNull();
            assertThat(lines.all()).hasSize(1);
        }
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(path).doesNotExist();
    }

    /** Ranges released by its leases were not reused: the file was abandoned before they were considered. */
    @Test
    void ofAFullDiskWhatIsFreeInTheFileIsLeased() throws Exception {
        long room = Files.getFileStore(directory).getUsableSpace();
        open(room - (256 << 20));
        Lease all = reserve(1, 1L << 40);
        long half = all.lengthBytes() / 2;
        all.trim(half);
        try (Lease rest = reserve(half / 2, 1L << 40)) {
            assertThat(rest.lengthBytes()).isGreaterThanOrEqualTo(half / 2);
        }
        all.close();
    }

    @Test
    void aRetiredFileLeasesAndExtendsNothing() throws Exception {
        Lease lease = reserve(1, PAGE);
        file.retire();
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 2 * GROWTH)).isNull();
        assertThat(lease.extend(PAGE)).isZero();
        assertUsage(GROWTH, PAGE, PAGE, 1);
        assertThat(file.leased(0, PAGE)).as("peers read on").isNotNull();
        lease.close();
        assertUsage(GROWTH, 0, PAGE, 0);
    }

    /** As when an executor stops, whose peers read on what its directory has led them to. */
    @Test
    void retiredFileKeepsItsBytes() throws Exception {
        Lease first = reserve(1, PAGE);
        Lease last = reserve(1, PAGE);
        FileSlice firstBytes = filled(first);
        FileSlice lastBytes = filled(last);
        file.retire();
        first.close();
        assertThat(TestPools.bytes(firstBytes)).containsOnly(1);
        last.close();
        assertThat(TestPools.bytes(firstBytes)).containsOnly(1);
        assertThat(TestPools.bytes(lastBytes)).containsOnly(1);
    }

    @Test
    void retiredBeforeItsFirstLeaseItCreatesNoFile() {
        file.retire();
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(path).doesNotExist();
    }

    @Test
    void closingRemovesTheFileAndKeepsWhatIsLeased() throws Exception {
        Lease lease = reserve(1, PAGE);
        FileSlice bytes = filled(lease);
        file.close();
        assertThat(path).doesNotExist();
        assertThat(TestPools.bytes(bytes)).containsOnly(1);
        assertThat(directoryOfFile.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
        assertThat(path).doesNotExist();
        lease.close();
        assertThatThrownBy(() -> bytes.getInt(0)).isInstanceOf(IOException.class);
    }

    @Test
    void aFileThatSparkHasRemovedIsClosedWithoutAComplaint() throws Exception {
        reserve(1, PAGE).close();
        Files.delete(path);
        try (LoggedLines lines = LoggedLines.of(DiskTierFile.class)) {
            file.close();
            assertThat(lines.all()).isEmpty();
        }
    }
}
