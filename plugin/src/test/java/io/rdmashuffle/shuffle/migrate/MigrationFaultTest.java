// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** What may go wrong on a map output's way to another executor: nothing wrong is ever seen, and nothing stays. */
@Tag("unit")
class MigrationFaultTest extends MigrationTestBed {
    /** The data fits, to the last byte of its chunks, and the index does not. */
    @Test
    void outputWithoutIndexSpaceBecomesAFile() throws Exception {
        byte[][] content = new byte[PARTITIONS][(int) CHUNK];
        for (byte[] partition : content) {
            random.nextBytes(partition);
        }
        TestOutput written = TestOutput.write(oldPool, MAP, content, random);
        oldHome.add(SHUFFLE, 0, written.output());
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        send(blocks.get(0));
        List<Lease> rest = new ArrayList<>();
        for (Lease lease = least(); lease != null; lease = least()) {
            rest.add(lease);
        }
        send(blocks.get(1));
        rest.forEach(Lease::close);
        assertFiled(written);
        store.removeShuffle(SHUFFLE);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    private @Nullable Lease least() throws InterruptedException {
        return pool.reserve(Purpose.RECEIVE, 64, 64, Duration.ZERO);
    }

    @Test
    void aDamagedByteIsRefusedInThePoolAndInAFile() throws Exception {
        for (int maxPartitionBytes : new int[] {3000, 30_000}) {
            written(maxPartitionBytes);
            List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
            byte[] data = dataOf(blocks);
            data[random.nextInt(data.length)] ^= 4;
            send(blocks.get(0)._1(), data);
            assertThatThrownBy(() -> send(blocks.get(1)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("wrong checksum");
            assertNothingHere();
            assertThat(incoming.outstanding()).isZero();
            oldHome.removeShuffle(SHUFFLE);
        }
    }

    @Test
    void missingBytesAreRefused() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] data = dataOf(blocks);
        send(blocks.get(0)._1(), Arrays.copyOf(data, data.length - 1));
        assertThatThrownBy(() -> send(blocks.get(1)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("its index says " + data.length);
        assertNothingHere();
    }

    @Test
    void everyDamageOfAnIndexIsRefusedAndTakesTheDataAlong() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] index = bytes(blocks.get(1)._2());
        for (int attempt = 0; attempt < 200; attempt++) {
            byte[] damaged;
            if (attempt % 2 == 0) {
                int length = random.nextInt(index.length);
                // Cut between two offsets it is one of Spark's own, of fewer partitions; if those cut off are empty, it
                // is a good one.
                boolean isSparks = length % 8 == 0 && length <= 8 * (PARTITIONS + 1);
                damaged = Arrays.copyOf(index, isSparks ? length + 1 : length);
            } else {
                damaged = index.clone();
                damaged[random.nextInt(index.length)] ^= (byte) (1 << random.nextInt(8));
            }
            send(blocks.get(0));
            assertThatThrownBy(() -> send(blocks.get(1)._1(), damaged))
                    .as("seed %d attempt %d", seed, attempt)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("migrated");
            assertNothingHere();
            assertThat(incoming.outstanding()).isZero();
        }
    }

    @Test
    void anIndexWithoutEndIsRefused() throws Exception {
        StreamCallbackWithID stream = incoming.receive(OutgoingOutputs.indexBlockId(KEY), target);
        ByteBuffer megabyte = ByteBuffer.allocate(1 << 20);
        for (int i = 0; i < 64; i++) {
            stream.onData(stream.getID(), megabyte.duplicate());
        }
        assertThatThrownBy(() -> stream.onData(stream.getID(), megabyte.duplicate()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("longer than");
        stream.onFailure(stream.getID(), new IOException("as the transport says"));
        assertNothingHere();
    }

    @Test
    void aSenderThatDiesHalfWayLeavesNothing() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] data = dataOf(blocks);
        StreamCallbackWithID stream = incoming.receive(blocks.get(0)._1(), target);
        feed(stream, data, data.length / 2);
        stream.onFailure(stream.getID(), new ClosedChannelException());
        assertNothingHere();

        send(blocks.get(0));
        StreamCallbackWithID index = incoming.receive(blocks.get(1)._1(), target);
        index.onFailure(index.getID(), new ClosedChannelException());
        assertNothingHere();
        assertThat(incoming.outstanding()).isZero();
    }

    @Test
    void aHalfIsDroppedWhenTheOtherDoesNotCome() throws Exception {
        incoming.close();
        incoming = incoming(Duration.ofSeconds(3));
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] data = dataOf(blocks);
        send(blocks.get(0));
        StreamCallbackWithID standing = incoming.receive(blocks.get(0)._1(), target);
        feed(standing, data, data.length / 2);
        assertThat(pool.usage().usedBytes()).isGreaterThan(emptyBytes);
        eventually().until(() -> incoming.outstanding() == 0);
        assertNothingHere();
        // Late bytes go nowhere, and the sender hears that they came in vain.
        feed(standing, data, data.length);
        assertThatThrownBy(() -> complete(standing)).hasMessageContaining("too late");
        assertNothingHere();
    }

    @Test
    void aFullDiskIsAnErrorAndLeavesNothing() throws Exception {
        written(30_000);
        target.setFull();
        byte[] data = dataOf(blocks());
        StreamCallbackWithID stream = incoming.receive(blocks().get(0)._1(), target);
        assertThatThrownBy(() -> feed(stream, data, data.length)).hasMessageContaining("disk is full");
        stream.onFailure(stream.getID(), new IOException("as the transport says"));
        assertNothingHere();
    }

    @Test
    void damagedBytesAreNotSent() throws Exception {
        TestOutput written = written(3000);
        MapOutput output = written.output();
        BlockRange all = output.range(0, PARTITIONS);
        MemorySlice first = TestOutput.inMemory(output, all).get(0);
        first.putBytes(0, new byte[] {(byte) ~first.getByte(0)}, 0, 1);
        assertThat(blocks()).isEmpty();
        assertThatThrownBy(() -> new OutgoingOutputs(oldHome).writeFiles(KEY, target))
                .hasMessageContaining("checksum");
        assertNothingHere();
    }

    /** An exception would end Spark's thread that sends outputs to this peer. */
    @Test
    void overwrittenIndexIsNotSent() throws Exception {
        TestOutput written = written(3000);
        DirectoryEntry entry = written.output().entry();
        MemorySlice region = oldPool.regions().get(entry.indexRegion()).memory();
        MemorySlice index = region.slice(entry.indexOffset(), MapOutputIndex.lengthBytes(PARTITIONS, entry.extents()));
        int sound = 0;
        for (long at = 0; at + Long.BYTES <= index.lengthBytes(); at += Long.BYTES) {
            long before = index.getLong(at);
            for (long damaged : new long[] {-1, Long.MAX_VALUE}) {
                index.putLong(at, damaged);
                List<Tuple2<BlockId, ManagedBuffer>> sent = blocks();
                if (!sent.isEmpty()) {
                    assertThat(dataOf(sent)).as("%d at %d", damaged, at).isEqualTo(written.expected(0, PARTITIONS));
                    sound++;
                }
            }
            index.putLong(at, before);
        }
        // Where the last extent lies right behind the one before it, that one leads to its bytes without it too.
        assertThat(sound).as("seed %d", seed).isLessThanOrEqualTo(1);
        assertThat(blocks()).isNotEmpty();
        assertNothingHere();
    }

    @Test
    void otherBlocksAreRefused() {
        assertThatThrownBy(() -> incoming.receive(new ShuffleBlockId(SHUFFLE, MAP, 0), target))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("neither data nor index");
    }

    @Test
    void nothingIsTakenAfterTheEnd() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        StreamCallbackWithID stream = incoming.receive(blocks.get(0)._1(), target);
        incoming.close();
        feed(stream, dataOf(blocks), 100);
        assertThatThrownBy(() -> complete(stream)).hasMessageContaining("too late");
        assertThatThrownBy(() -> send(blocks.get(0))).hasMessageContaining("stopping");
        assertNothingHere();
    }
}
