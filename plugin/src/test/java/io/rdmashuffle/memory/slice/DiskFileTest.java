// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.TestPools;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
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
class DiskFileTest {
    private static final int LENGTH = 300_000;
    private static final int UID = LibC.load().geteuid();

    @TempDir
    Path directory;

    private final NativeBuffer buffer = new NativeBuffer(LENGTH);
    private final MemorySlice memory = new MemorySlice(buffer.address(), LENGTH);
    private final byte[] content = new byte[LENGTH];
    private DiskFile file;

    @BeforeEach
    void open() throws IOException {
        file = DiskFile.create(directory.resolve("file"));
        new Random(1).nextBytes(content);
        memory.putBytes(0, content, 0, LENGTH);
    }

    @AfterEach
    void close() {
        file.close();
        buffer.close();
    }

    private byte[] part(int from, int length) {
        return Arrays.copyOfRange(content, from, from + length);
    }

    private static void assertFails(ThrowingCallable call, String... message) {
        assertThatThrownBy(call)
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(message)
                .hasCauseInstanceOf(NativeException.class)
                .cause()
                .hasMessageContaining("spark.local.dir");
    }

    @Test
    void positionedRoundTrip() throws Exception {
        file.write(1_000, memory);
        assertThat(Files.size(file.path())).isEqualTo(1_000 + LENGTH);
        memory.clear();
        file.read(1_100, memory.slice(50, 200_000));
        assertThat(TestPools.bytes(memory.slice(50, 200_000))).isEqualTo(part(100, 200_000));
        assertThat(memory.getByte(49)).isZero();
        assertThat(memory.getByte(200_050)).isZero();
    }

    /** The memory through which it goes is shorter. */
    @Test
    void aLongRangeIsReadIntoItsPlaceInAnArray() throws Exception {
        file.write(0, memory);
        byte[] target = new byte[200_100];
        file.read(70, target, 50, 200_000);
        assertThat(Arrays.copyOfRange(target, 50, 200_050)).isEqualTo(part(70, 200_000));
        assertThat(Arrays.copyOf(target, 50)).containsOnly(0);
        assertThat(Arrays.copyOfRange(target, 200_050, 200_100)).containsOnly(0);
        file.read(0, target, 0, 0);
        assertThat(target[0]).isZero();
    }

    @Test
    void readingBeyondTheEndSaysWhichByteIsMissing() throws Exception {
        file.write(0, memory);
        assertThatThrownBy(() -> file.read(LENGTH - 99, memory.slice(0, 100)))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(file.path().toString(), "ends before byte " + (LENGTH + 1));
        file.read(LENGTH - 100, memory.slice(0, 100));
        assertThat(TestPools.bytes(memory.slice(0, 100))).isEqualTo(part(LENGTH - 100, 100));
    }

    @Test
    void aPunchedRangeReadsAsZeroesAndTheRestStays() throws Exception {
        file.write(0, memory);
        assertThat(file.punch(8192, 4096)).isTrue();
        assertThat(Files.size(file.path())).isEqualTo(LENGTH);
        byte[] target = new byte[LENGTH];
        file.read(0, target, 0, LENGTH);
        byte[] expected = content.clone();
        Arrays.fill(expected, 8192, 12_288, (byte) 0);
        assertThat(target).isEqualTo(expected);
        assertThat(file.punch(-1, 4096)).as("no such range").isFalse();
    }

    /** It is advice: what cannot be read ahead shows when it is read. */
    @Test
    void readingAheadChangesNothing() throws Exception {
        file.write(0, memory);
        file.readAhead(0, LENGTH);
        file.readAhead(LENGTH - 1, 10L << 20);
        file.readAhead(-1, 1);
        assertThat(Files.size(file.path())).isEqualTo(LENGTH);
        byte[] target = new byte[LENGTH];
        file.read(0, target, 0, LENGTH);
        assertThat(target).isEqualTo(content);
    }

    @Test
    void allocatedBytesAreInTheFileAndTruncatedOnesAreNot() throws Exception {
        file.allocate(4096, 8192);
        assertThat(Files.size(file.path())).isEqualTo(12_288);
        file.truncate();
        assertThat(Files.size(file.path())).isZero();
    }

    @Test
    void failuresNameTheCallAndTheKey() throws Exception {
        assertFails(() -> DiskFile.create(file.path()), "open(" + file.path());
        assertFails(() -> file.allocate(0, 0), "fallocate(" + file.path(), "offset=0", "length=0");
        assertFails(() -> file.read(-1, memory), "pread(" + file.path(), "length=" + LENGTH, "offset=-1");
        DiskFile peers = DiskFile.openForReading(file.path(), UID);
        try {
            assertFails(() -> peers.write(10, memory), "pwrite(" + file.path(), "offset=10");
            assertFails(peers::truncate, "ftruncate(" + file.path());
        } finally {
            peers.close();
        }
        assertFails(() -> DiskFile.openForReading(directory.resolve("none"), UID), "open(", "none");
    }

    @Test
    void aPeerReadsWhatTheOwnerWritesLater() throws Exception {
        DiskFile peers = DiskFile.openForReading(file.path(), UID);
        assertThat(peers.path()).isEqualTo(directory.resolve("file"));
        file.write(0, memory);
        byte[] target = new byte[100];
        peers.read(5, target, 0, 100);
        peers.close();
        assertThat(target).isEqualTo(part(5, 100));
    }

    @Test
    void aPipeOfThatNameKeepsNobody() throws Exception {
        Path pipe = directory.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        CompletableFuture<Void> reading = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                assertThatThrownBy(() -> DiskFile.openForReading(pipe, UID))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining(pipe + " is not the private file");
                reading.complete(null);
            } catch (AssertionError e) {
                reading.completeExceptionally(e);
            }
        });
        reader.setDaemon(true);
        reader.start();
        reading.get(30, TimeUnit.SECONDS);
    }

    @Test
    void retainedFileIsReadableAfterItsOwnerClosed() throws Exception {
        file.write(0, memory);
        long live = DiskFile.live();
        assertThat(file.retain()).isTrue();
        file.close();
        file.close();
        byte[] target = new byte[100];
        file.read(0, target, 0, 100);
        assertThat(target).isEqualTo(part(0, 100));
        assertThat(DiskFile.live()).isEqualTo(live);
        file.release();
        assertThat(DiskFile.live()).isEqualTo(live - 1);
    }

    @Test
    void nothingIsDoneWithADescriptorThatIsGone() {
        file.close();
        assertThat(file.retain()).isFalse();
        assertThat(file.punch(0, 4096)).isFalse();
        assertThatThrownBy(() -> file.read(0, memory)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> file.read(0, new byte[1], 0, 1)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> file.write(0, memory)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> file.allocate(0, 4096)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> file.truncate()).hasMessageContaining("is closed");
    }

    /** A failure that kept its reference would keep the descriptor for ever. */
    @Test
    void failedCallsKeepNoReference() {
        long live = DiskFile.live();
        assertThatThrownBy(() -> file.read(0, memory)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> file.read(0, new byte[1], 0, 1)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> file.write(-1, memory)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> file.allocate(-1, 1)).isInstanceOf(IOException.class);
        assertThat(file.punch(-1, 1)).isFalse();
        file.close();
        assertThat(DiskFile.live()).isEqualTo(live - 1);
    }

    @Test
    void aThreadKeepsItsScratchAndSharesItWithNoOther() throws Exception {
        MemorySlice mine = ThreadScratch.memory();
        assertThat(mine.lengthBytes()).isEqualTo(64 << 10);
        assertThat(ThreadScratch.memory()).isEqualTo(mine);
        CompletableFuture<MemorySlice> other = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            MemorySlice theirs = ThreadScratch.memory();
            theirs.putLong(theirs.lengthBytes() - 8, 1);
            other.complete(theirs);
        });
        mine.putLong(mine.lengthBytes() - 8, 2);
        thread.start();
        assertThat(other.get(30, TimeUnit.SECONDS).address()).isNotEqualTo(mine.address());
        assertThat(mine.getLong(mine.lengthBytes() - 8)).isEqualTo(2);
    }
}
