// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Blocks in mapped memory as buffers, streams and file regions: always the same bytes. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class SliceBufferTest {
    private static final int BYTES = 10_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private Pool pool;
    private Lease lease;
    private MapOutput output;
    private byte[] content;

    @BeforeEach
    void open() throws Exception {
        System.out.println("SliceBufferTest seed " + seed);
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        lease = TestPools.filled(pool, BYTES, random);
        output = TestOutput.random(pool, 2, 1, 10, random).output();
        content = TestPools.bytes(lease.memory().slice(0, BYTES));
    }

    @AfterEach
    void close() {
        output.close();
        lease.close();
        pool.close();
    }

    /** Cuts the content into slices, some of them empty. */
    private List<StoredSlice> slices(int count) {
        List<StoredSlice> slices = new ArrayList<>();
        int start = 0;
        for (int i = 1; i <= count; i++) {
            int end = i == count ? BYTES : start + random.nextInt((BYTES - start) / 2 + 1);
            slices.add(lease.memory().slice(start, end - start));
            start = end;
        }
        return slices;
    }

    @Test
    void everyFormHasTheSameBytes() throws Exception {
        for (int count : new int[] {1, 2, 5, 40}) {
            SliceManagedBuffer buffer = new SliceManagedBuffer(slices(count), output);
            assertThat(buffer.size()).isEqualTo(BYTES);
            ByteBuffer nio = buffer.nioByteBuffer();
            assertThat(nio.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
            byte[] copy = new byte[nio.remaining()];
            nio.get(copy);
            assertThat(copy).isEqualTo(content);
            try (InputStream in = buffer.createInputStream()) {
                assertThat(in.readAllBytes()).isEqualTo(content);
            }
            ByteBuf netty = (ByteBuf) buffer.convertToNetty();
            assertThat(netty.getInt(0)).isEqualTo(ByteBuffer.wrap(content).getInt());
            assertThat(ByteBufUtil.getBytes(netty)).isEqualTo(content);
            netty.release();
            buffer.release();
            ByteBuf ssl = (ByteBuf) buffer.convertToNettyForSsl();
            assertThat(ByteBufUtil.getBytes(ssl)).isEqualTo(content);
            ssl.release();
            buffer.release();
        }
    }

    @Test
    void anEmptyBlockIsEmptyInEveryForm() throws Exception {
        SliceManagedBuffer buffer = new SliceManagedBuffer(List.of(), output);
        assertThat(buffer.size()).isZero();
        assertThat(buffer.nioByteBuffer().hasRemaining()).isFalse();
        try (InputStream in = buffer.createInputStream()) {
            assertThat(in.read()).isEqualTo(-1);
        }
        assertThat(((ByteBuf) buffer.convertToNetty()).readableBytes()).isZero();
        buffer.release();
    }

    @Test
    void memoryGoesBackOnceWithTheLastRelease() {
        SliceManagedBuffer buffer = new SliceManagedBuffer(slices(2), output);
        buffer.retain();
        buffer.retain();
        output.close();
        buffer.release();
        assertThat(output.retain()).as("the buffer has a reference").isTrue();
        output.release();
        buffer.release();
        assertThat(output.retain()).isFalse();
        buffer.release();
        assertThatThrownBy(buffer::retain).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aStreamThatOutlivesItsBlockFailsInsteadOfReading() throws Exception {
        SliceManagedBuffer buffer = new SliceManagedBuffer(slices(1), output);
        try (InputStream in = buffer.createInputStream()) {
            assertThat(in.read()).isEqualTo(content[0] & 0xFF);
            output.close();
            assertThatThrownBy(in::read).isInstanceOf(IOException.class).hasMessageContaining("released");
        }
    }

    @Test
    void aStreamFailsOnceTheOwnerHasReusedTheMemory() throws Exception {
        AtomicBoolean current = new AtomicBoolean(true);
        MovingBytes.Place place = new MovingBytes.Place(slices(3), current::get);
        try (InputStream in = SliceInputStream.over(place, from -> null)) {
            assertThat(in.readNBytes(100)).hasSize(100);
            current.set(false);
            assertThatThrownBy(() -> in.readNBytes(100))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("removed by its owner");
        }
    }

    @Test
    void aBlockThatMovesIsReadOnWhereItIs() throws Exception {
        AtomicBoolean current = new AtomicBoolean(true);
        AtomicInteger moves = new AtomicInteger();
        List<StoredSlice> first = List.of(lease.memory().slice(0, BYTES));
        MovingBytes moving = from -> {
            moves.incrementAndGet();
            return MovingBytes.Place.lasting(slices(4));
        };
        for (int start : new int[] {0, 1, BYTES / 2, BYTES - 1}) {
            current.set(true);
            try (InputStream in = SliceInputStream.over(new MovingBytes.Place(first, current::get), moving)) {
                byte[] head = in.readNBytes(start);
                current.set(false);
                assertThat(in.available()).isEqualTo(BYTES - start);
                byte[] tail = in.readAllBytes();
                assertThat(tail).isEqualTo(Arrays.copyOfRange(content, start, BYTES));
                assertThat(head).isEqualTo(Arrays.copyOf(content, start));
            }
        }
        assertThat(moves).hasValue(4);
        MovingBytes shorter =
                from -> MovingBytes.Place.lasting(List.of(lease.memory().slice(0, 10)));
        try (InputStream in = SliceInputStream.over(new MovingBytes.Place(first, () -> false), shorter)) {
            assertThatThrownBy(in::read).isInstanceOf(IOException.class);
        }
    }

    @Test
    void aBlockTakesItsReferencesWhenItIsUsed() throws Exception {
        TestOutput made = TestOutput.random(pool, 1, 4, 500, random);
        MapOutput used = made.output();
        List<StoredSlice> bytes = used.bytes(used.range(0, 4));
        SliceManagedBuffer dropped = new SliceManagedBuffer(bytes, used);
        SliceManagedBuffer read = new SliceManagedBuffer(bytes, used);
        read.retain();
        read.release();
        SliceManagedBuffer sent = new SliceManagedBuffer(bytes, used);
        ByteBuf netty = (ByteBuf) sent.convertToNetty();
        used.close();
        assertThat(ByteBufUtil.getBytes(netty)).isEqualTo(made.expected(0, 4));
        sent.release();
        assertThat(used.retain()).as("freed with the last one sent").isFalse();
        assertThatThrownBy(dropped::convertToNetty).isInstanceOf(IOException.class);
        dropped.release();
    }

    @Test
    void streamsReadSkipAndCountAsAnArrayStreamDoes() throws Exception {
        for (int round = 0; round < 50; round++) {
            MovingBytes.Place place = MovingBytes.Place.lasting(slices(1 + random.nextInt(12)));
            InputStream in = SliceInputStream.over(place, from -> null);
            ByteArrayInputStream model = new ByteArrayInputStream(content);
            for (int step = 0; step < 200; step++) {
                String where = "seed " + seed + " round " + round + " step " + step;
                assertThat(in.available()).as(where).isEqualTo(model.available());
                switch (random.nextInt(3)) {
                    case 0 -> assertThat(in.read()).as(where).isEqualTo(model.read());
                    case 1 -> {
                        long count = random.nextInt(300) - 10L;
                        assertThat(in.skip(count)).as(where).isEqualTo(model.skip(count));
                    }
                    default -> {
                        int length = random.nextInt(300);
                        byte[] actual = in.readNBytes(length);
                        assertThat(actual).as(where).isEqualTo(model.readNBytes(length));
                    }
                }
            }
        }
    }

    @Test
    void fileRegionsSurvivePartialWrites() throws Exception {
        for (int round = 0; round < 20; round++) {
            SliceFileRegion region = new SliceFileRegion(slices(1 + random.nextInt(8)), BYTES);
            ByteArrayOutputStream sent = new ByteArrayOutputStream();
            assertThat(region.count()).isEqualTo(BYTES);
            for (int calls = 0; region.transferred() < BYTES; calls++) {
                assertThat(calls).as("seed %d", seed).isLessThan(100_000);
                long before = region.transferred();
                long written = region.transferTo(new Reluctant(sent), before);
                assertThat(region.transferred()).isEqualTo(before + written);
            }
            assertThat(sent.toByteArray()).as("seed %d", seed).isEqualTo(content);
            assertThat(region.transferTo(new Reluctant(sent), BYTES)).isZero();
            region.release();
        }
    }

    /** A socket whose buffer is nearly always full. */
    private final class Reluctant implements WritableByteChannel {
        private final ByteArrayOutputStream sent;

        Reluctant(ByteArrayOutputStream sent) {
            this.sent = sent;
        }

        @Override
        public int write(ByteBuffer source) {
            byte[] taken = new byte[Math.min(source.remaining(), random.nextInt(700))];
            source.get(taken);
            sent.writeBytes(taken);
            return taken.length;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }
}
