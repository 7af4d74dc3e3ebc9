// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
class DiskTierTest {
    @TempDir
    Path first;

    @TempDir
    Path second;

    private DiskTier tier;

    @BeforeEach
    void open() {
        tier = TestPools.diskTier(0, first, second);
    }

    @AfterEach
    void close() {
        tier.close();
    }

    private Lease reserve(long bytes) {
        Lease lease = tier.reserve(Purpose.MAP_OUTPUT, bytes, bytes);
        assertThat(lease).isNotNull();
        return lease;
    }

    private static byte[] write(Lease lease, int bytes, Random random) {
        byte[] content = new byte[bytes];
        random.nextBytes(content);
        write(lease, content);
        return content;
    }

    private static void write(Lease lease, byte[] content) {
        try (NativeBuffer buffer = new NativeBuffer(content.length)) {
            MemorySlice memory = new MemorySlice(buffer.address(), content.length);
            memory.putBytes(0, content, 0, content.length);
            ((FileSlice) lease.bytes()).write(memory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] read(Lease lease, int bytes) {
        return TestPools.bytes(lease.bytes().slice(0, bytes));
    }

    private static List<Path> files(Path directory) throws IOException {
        try (var all = Files.list(directory)) {
            return all.toList();
        }
    }

    @Test
    void bytesComeBackAsTheyWereWritten() {
        Random random = new Random(1);
        List<Lease> leases = new ArrayList<>();
        List<byte[]> written = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int bytes = 1 + random.nextInt(200_000);
            leases.add(reserve(bytes));
            written.add(write(leases.get(i), bytes, random));
        }
        for (int i = 0; i < 20; i++) {
            assertThat(read(leases.get(i), written.get(i).length)).isEqualTo(written.get(i));
        }
        leases.forEach(Lease::close);
    }

    @Test
    void theDirectoriesTakeTurns() {
        Set<Integer> regions = new HashSet<>();
        for (int i = 0; i < 2; i++) {
            try (Lease lease = reserve(100)) {
                regions.add(lease.region().id());
            }
        }
        assertThat(regions).containsExactlyInAnyOrder(Region.FIRST_ON_DISK, Region.FIRST_ON_DISK + 1);
    }

    @Test
    void filesArePrivateAndComeWithTheFirstLease() throws Exception {
        assertThat(files(first)).isEmpty();
        try (Lease lease = reserve(100)) {
            Path file = lease.region().file();
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                    .isEqualTo("rw-------");
            assertThat(file)
                    .isEqualTo(DiskTier.file(
                            tier.directories(), tier.token(), lease.region().id()));
        }
    }

    @Test
    void theLastLeaseCutsTheFileDownToNothing() throws Exception {
        Lease lease = reserve(3 << 20);
        Path file = lease.region().file();
        assertThat(Files.size(file)).isGreaterThanOrEqualTo(3 << 20);
        lease.close();
        assertThat(Files.size(file)).isZero();
        assertThat(tier.usage()).isEqualTo(new DiskUsage(0, 0, tier.usage().peakBytes(), 0));
        try (Lease again = reserve(3 << 20)) {
            write(again, 100, new Random(2));
        }
    }

    @Test
    void aFreedRangeGoesBackToTheFileSystemWhileOthersStay() throws Exception {
        tier.close();
        tier = TestPools.diskTier(0, first);
        Lease kept = reserve(4096);
        byte[] content = write(kept, 4096, new Random(3));
        Lease freed = reserve(8 << 20);
        long before = blocks(kept.region().file());
        freed.close();
        assertThat(blocks(kept.region().file())).isLessThan(before - (7 << 20) / 512);
        assertThat(read(kept, 4096)).isEqualTo(content);
        kept.close();
    }

    private static long blocks(Path file) throws Exception {
        Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
        return Long.parseLong(new String(stat.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip());
    }

    @Test
    void aDirectoryThatIsGoneIsPassedOver() throws Exception {
        Files.delete(first);
        for (int i = 0; i < 3; i++) {
            try (Lease lease = reserve(100)) {
                assertThat(lease.region().file()).startsWithRaw(second);
            }
        }
        Files.createDirectory(first);
    }

    @Test
    void minimumFreeSpaceIsNotUsed() {
        tier.close();
        tier = TestPools.diskTier(Long.MAX_VALUE / 2, first, second);
        assertThat(tier.reserve(Purpose.MAP_OUTPUT, 1, 100)).isNull();
        assertThat(tier.usage()).isEqualTo(DiskUsage.NONE);
    }

    @Test
    void moreThanTheDiskHasIsRefusedAndLessIsGiven() throws Exception {
        assertThat(tier.reserve(Purpose.MAP_OUTPUT, 1L << 60, 1L << 60)).isNull();
        tier.close();
        long room = Files.getFileStore(first).getUsableSpace();
        // Other processes use the file system too.
        tier = TestPools.diskTier(room - (64 << 20), first);
        Lease some = tier.reserve(Purpose.MAP_OUTPUT, 4096, 1L << 40);
        assertThat(some).isNotNull();
        assertThat(some.lengthBytes()).isBetween(4096L, 1L << 30);
        some.close();
    }

    @Test
    void aDirectoryIsGivenUpForAWhileAfterAFailedWrite() {
        Lease lease = reserve(100);
        tier.failed(lease.region(), new IOException("the disk is gone"));
        for (int i = 0; i < 3; i++) {
            try (Lease other = reserve(100)) {
                assertThat(other.region().id()).isNotEqualTo(lease.region().id());
            }
        }
        lease.close();
    }

    @Test
    void aTruncatedFileIsAnErrorAndNotASignal() throws Exception {
        Lease lease = reserve(100_000);
        write(lease, 100_000, new Random(4));
        try (RandomAccessFile file = new RandomAccessFile(lease.region().file().toFile(), "rw")) {
            file.setLength(50_000);
        }
        byte[] target = new byte[100_000];
        assertThatThrownBy(() -> lease.bytes().getBytes(0, target, 0, target.length))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("it was truncated");
        lease.close();
    }

    @Test
    void anInterruptedThreadReadsOnAndLeavesTheFileOpen() {
        Lease lease = reserve(1000);
        byte[] content = write(lease, 1000, new Random(5));
        Thread.currentThread().interrupt();
        assertThat(read(lease, 1000)).isEqualTo(content);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(read(lease, 1000)).isEqualTo(content);
        lease.close();
    }

    @Test
    void closingTellsOfLeasesAndKeepsTheirBytes() throws Exception {
        Lease lease = reserve(1000);
        byte[] content = write(lease, 1000, new Random(6));
        assertThatThrownBy(() -> tier.close())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("1 leases");
        assertThat(files(first)).isEmpty();
        assertThat(files(second)).isEmpty();
        assertThat(read(lease, 1000)).isEqualTo(content);
        lease.close();
        assertThat(tier.reserve(Purpose.MAP_OUTPUT, 1, 1)).isNull();
    }

    /** Threads reserve, write, read and release; no range is leased twice, and all are released. */
    @Test
    void manyThreadsNeverShareARange() throws Exception {
        long seed = System.nanoTime();
        System.out.println("DiskTierTest seed " + seed);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Boolean>> ends = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                Random random = new Random(seed + t);
                ends.add(threads.submit((Callable<Boolean>) () -> runOneThread(random)));
            }
            for (Future<Boolean> end : ends) {
                assertThat(end.get()).isTrue();
            }
        } finally {
            threads.shutdown();
        }
        assertThat(tier.usage().usedBytes()).isZero();
        assertThat(tier.usage().fileBytes()).isZero();
    }

    private boolean runOneThread(Random random) {
        List<Lease> held = new ArrayList<>();
        List<byte[]> contents = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            if (held.size() < 8 && random.nextInt(3) > 0) {
                int bytes = 1 + random.nextInt(60_000);
                Lease lease = reserve(bytes);
                if (random.nextBoolean()) {
                    lease.extend(random.nextInt(20_000));
                }
                byte[] content = write(lease, bytes, random);
                if (random.nextBoolean()) {
                    lease.trim(bytes);
                }
                held.add(lease);
                contents.add(content);
            } else if (!held.isEmpty()) {
                int one = random.nextInt(held.size());
                byte[] content = contents.remove(one);
                try (Lease lease = held.remove(one)) {
                    if (!Arrays.equals(read(lease, content.length), content)) {
                        return false;
                    }
                }
            }
        }
        held.forEach(Lease::close);
        return true;
    }
}
