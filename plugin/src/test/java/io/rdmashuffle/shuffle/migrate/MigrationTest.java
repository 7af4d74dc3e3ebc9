// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.store.OutputKey;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** A map output's way from one executor's pool to another's. */
@Tag("unit")
class MigrationTest extends MigrationTestBed {
    @Test
    void anOutputArrivesInThePoolAndIsReported() throws Exception {
        TestOutput written = written(3000);
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            assertThat(target.reported()).isEmpty();
            assertThat(store.acquire(SHUFFLE, MAP)).isNull();
            send(block);
        }
        assertPooled(written);
        assertThat(target.reported()).containsExactly(KEY);
        assertThat(target.files()).isZero();
        store.removeShuffle(SHUFFLE);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    @Test
    void theIndexMayComeFirst() throws Exception {
        TestOutput written = written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        send(blocks.get(1));
        assertThat(target.reported()).isEmpty();
        assertThat(incoming.outstanding()).isOne();
        send(blocks.get(0));
        assertPooled(written);
        assertThat(target.reported()).containsExactly(KEY);
        assertThat(incoming.outstanding()).isZero();
    }

    @Test
    void anOutputWithoutAByteIsItsIndexOnly() throws Exception {
        TestOutput written = TestOutput.write(oldPool, MAP, new byte[PARTITIONS][0], random);
        oldHome.add(SHUFFLE, 0, written.output());
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        assertThat(blocks).hasSize(1);
        send(blocks.get(0));
        assertPooled(written);
        assertThat(target.reported()).containsExactly(KEY);
    }

    @Test
    void outputThatDoesNotFitBecomesAFile() throws Exception {
        TestOutput written = written(30_000);
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            send(block);
        }
        assertFiled(written);
    }

    @Test
    void sentTwiceItIsThereOnceAndStaysWhereReadersKnowIt() throws Exception {
        TestOutput written = written(3000);
        send(blocks().get(0));
        send(blocks().get(0));
        send(blocks().get(1));
        MapOutput first = Objects.requireNonNull(store.acquire(SHUFFLE, MAP));
        first.release();
        long used = pool.usage().usedBytes();
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            send(block);
        }
        assertThat(store.acquire(SHUFFLE, MAP)).isSameAs(first).satisfies(MapOutput::release);
        assertPooled(written);
        assertThat(pool.usage().usedBytes()).isEqualTo(used);
        assertThat(target.reported()).containsExactly(KEY, KEY);
    }

    @Test
    void aShuffleRemovedMeanwhileIsTakenAndDropped() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] data = dataOf(blocks);
        send(blocks.get(0));
        removeShuffle();
        assertNothingHere();
        send(blocks.get(1));
        assertNothingHere();

        StreamCallbackWithID stream = incoming.receive(blocks.get(0)._1(), target);
        feed(stream, data, data.length / 2);
        removeShuffle();
        feed(stream, data, data.length);
        complete(stream);
        assertNothingHere();
        assertThat(incoming.outstanding()).isZero();
    }

    /** Its removal reached the receiver before the first byte did; the index says that the output is older. */
    @Test
    void anOutputOlderThanTheRemovalOfItsShuffleIsDropped() throws Exception {
        written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        // Longer than sending takes on any machine.
        passedNanos = LONG.toNanos();
        removeShuffle();
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            send(block);
        }
        assertThat(blocks).hasSize(2);
        assertNothingHere();
        assertThat(incoming.outstanding()).isZero();
    }

    /** Spark removes a query's shuffles and writes them again under the same ids. */
    @Test
    void anOutputYoungerThanTheRemovalOfItsShuffleIsKept() throws Exception {
        removeShuffle();
        oldHome.removeShuffle(SHUFFLE);
        TestOutput written = written(3000);
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            send(block);
        }
        assertPooled(written);
    }

    @Test
    void filesOfAShuffleRemovedMeanwhileAreDeleted() throws Exception {
        written(30_000);
        target.beforeCommit(this::removeShuffle);
        for (Tuple2<BlockId, ManagedBuffer> block : blocks()) {
            send(block);
        }
        assertNothingHere();
    }

    /** Outputs that lie in files at the sender come as Spark sends them. */
    @Test
    void sparksOwnIndexIsTaken() throws Exception {
        TestOutput written = written(3000);
        List<Tuple2<BlockId, ManagedBuffer>> blocks = blocks();
        byte[] plain = Arrays.copyOf(bytes(blocks.get(1)._2()), 8 * (PARTITIONS + 1));
        send(blocks.get(0));
        send(blocks.get(1)._1(), plain);
        assertPooled(written);
    }

    @Test
    void anOutputIsWrittenToFilesForTheFallbackStorage() throws Exception {
        TestOutput written = written(3000);
        new OutgoingOutputs(oldHome).writeFiles(KEY, target);
        new OutgoingOutputs(oldHome).writeFiles(new OutputKey(SHUFFLE, 999), target);
        assertThat(target.data(KEY)).isEqualTo(written.expected(0, PARTITIONS));
        assertThat(target.files()).isOne();
    }

    @Test
    void manyOutputsInRandomOrder() throws Exception {
        int outputs = 12;
        List<TestOutput> written = new ArrayList<>();
        List<Tuple2<BlockId, ManagedBuffer>> blocks = new ArrayList<>();
        for (long mapId = 0; mapId < outputs; mapId++) {
            TestOutput output = TestOutput.random(oldPool, mapId, PARTITIONS, 2000, random);
            written.add(output);
            oldHome.add(SHUFFLE, 0, output.output());
            blocks.addAll(Objects.requireNonNull(new OutgoingOutputs(oldHome).blocks(new OutputKey(SHUFFLE, mapId))));
        }
        Collections.shuffle(blocks, random);
        for (Tuple2<BlockId, ManagedBuffer> block : blocks) {
            send(block);
        }
        assertThat(incoming.outstanding()).isZero();
        assertThat(target.reported()).hasSize(outputs);
        for (int mapId = 0; mapId < outputs; mapId++) {
            ByteArrayOutputStream here = new ByteArrayOutputStream();
            MapOutput pooled = store.acquire(SHUFFLE, mapId);
            if (pooled == null) {
                here.writeBytes(target.data(new OutputKey(SHUFFLE, mapId)));
            } else {
                here.writeBytes(TestOutput.join(pooled.bytes(pooled.range(0, PARTITIONS))));
                pooled.release();
            }
            assertThat(here.toByteArray())
                    .as("seed %d map %d", seed, mapId)
                    .isEqualTo(written.get(mapId).expected(0, PARTITIONS));
        }
        store.removeShuffle(SHUFFLE);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }
}
