// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.stream.ChunkedStream;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A block in files of two local directories, with a piece in memory between them, as Spark's transport sends it. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DiskBlockBufferTest {
    /** Longer than one write to a socket. */
    private static final int ON_DISK = (1 << 20) + 777;

    private static final int IN_MEMORY = 5_000;

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path disk;

    @TempDir
    Path otherDisk;

    private Pool memory;
    private DiskTier tier;
    private DiskTier otherTier;
    private List<Lease> leases;
    private List<StoredSlice> slices;
    private byte[] content;

    @BeforeEach
    void open() throws Exception {
        memory = TestPools.create(shm, 1 << 20, 1 << 20);
        tier = TestPools.diskTier(0, disk);
        otherTier = TestPools.diskTier(0, otherDisk);
        content = new byte[ON_DISK + IN_MEMORY + ON_DISK];
        new Random(7).nextBytes(content);
        Lease between = TestPools.reserve(memory, Purpose.MAP_OUTPUT, IN_MEMORY);
        between.memory().putBytes(0, content, ON_DISK, IN_MEMORY);
        Lease first = onDisk(tier, 0);
        Lease last = onDisk(otherTier, ON_DISK + IN_MEMORY);
        leases = List.of(first, between, last);
        slices = List.of(
                first.bytes().slice(0, ON_DISK),
                between.bytes().slice(0, IN_MEMORY),
                last.bytes().slice(0, ON_DISK));
    }

    private Lease onDisk(DiskTier where, int from) {
        return TestPools.filledOnDisk(new TieredPool(memory, where), Arrays.copyOfRange(content, from, from + ON_DISK));
    }

    @AfterEach
    void close() {
        leases.forEach(Lease::close);
        memory.close();
        tier.close();
        otherTier.close();
    }

    private static byte[] sendAll(SliceFileRegion region) throws IOException {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        WritableByteChannel target = Channels.newChannel(sent);
        while (region.transferred() < region.count()) {
            assertThat(region.transferTo(target, region.transferred())).isPositive();
        }
        return sent.toByteArray();
    }

    /** Returns how many descriptors of this process are open on files below a directory. */
    private static long descriptors(Path below) throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(fd -> isBelow(fd, below)).count();
        }
    }

    private static boolean isBelow(Path descriptor, Path directory) {
        try {
            return Files.readSymbolicLink(descriptor).startsWith(directory);
        } catch (IOException e) {
            // Closed since it was listed.
            return false;
        }
    }

    /** The owner truncates a file after it has released the last range. */
    @Test
    void aBlockWhoseFileWasCutShortIsReadOnWhereItIs() throws Exception {
        byte[] block = Arrays.copyOf(content, ON_DISK);
        AtomicBoolean current = new AtomicBoolean(true);
        MovingBytes moving = from -> MovingBytes.Place.lasting(slices.subList(0, 1));
        try (DiskTier left = TestPools.diskTier(0, disk)) {
            Lease lease = onDisk(left, 0);
            List<StoredSlice> before = List.of(lease.bytes().slice(0, ON_DISK));
            MovingBytes.Place place = new MovingBytes.Place(before, current::get);
            try (InputStream in = SliceInputStream.over(place, moving);
                    InputStream other = SliceInputStream.over(place, moving)) {
                byte[] head = in.readNBytes(100);
                lease.close();
                assertThatThrownBy(other::read)
                        .as("of a block that says that it is there")
                        .hasMessageContaining("it was truncated");
                current.set(false);
                assertThat(head).isEqualTo(Arrays.copyOf(block, 100));
                assertThat(in.readAllBytes()).isEqualTo(Arrays.copyOfRange(block, 100, ON_DISK));
            }
        }
    }

    @Test
    void everyFormHasTheSameBytes() throws Exception {
        MapOutput output = TestOutput.random(memory, 1, 1, 10, new Random(7)).output();
        SliceManagedBuffer buffer = new SliceManagedBuffer(slices, output);
        assertThat(buffer.nioByteBuffer().array()).isEqualTo(content);
        try (InputStream in = buffer.createInputStream()) {
            assertThat(in.readAllBytes()).isEqualTo(content);
        }
        ChunkedStream encrypted = (ChunkedStream) buffer.convertToNettyForSsl();
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        while (!encrypted.isEndOfInput()) {
            ByteBuf chunk = Objects.requireNonNull(encrypted.readChunk(ByteBufAllocator.DEFAULT));
            sent.writeBytes(ByteBufUtil.getBytes(chunk));
            chunk.release();
        }
        encrypted.close();
        assertThat(sent.toByteArray()).isEqualTo(content);
        SliceFileRegion region = (SliceFileRegion) buffer.convertToNetty();
        assertThat(sendAll(region)).isEqualTo(content);
        region.release();
        buffer.release();
        buffer.release();
        output.close();
    }

    /** Files are opened one after another for sending, apart from the one that the tier has open. */
    @Test
    void channelForSendingIsClosed() throws Exception {
        long first = descriptors(disk);
        long other = descriptors(otherDisk);
        SliceFileRegion region = new SliceFileRegion(slices, content.length);
        sendAll(region);
        assertThat(descriptors(disk)).as("sent").isEqualTo(first);
        assertThat(descriptors(otherDisk)).as("sent last").isEqualTo(other + 1);
        region.release();
        assertThat(descriptors(otherDisk)).isEqualTo(other);
    }

    /** Else Netty, to which nothing sent is a full socket, would try for ever. */
    @Test
    void aFileThatEndsEarlyIsAnError() throws Exception {
        int region = leases.get(0).region().id();
        Path file = DiskTier.file(tier.directories(), tier.token(), region);
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(1 << 20);
        }
        SliceFileRegion truncated = new SliceFileRegion(slices, content.length);
        assertThatThrownBy(() -> sendAll(truncated))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("ends before byte");
        assertThat(truncated.transferred()).isEqualTo(1 << 20);
        truncated.release();
    }
}
