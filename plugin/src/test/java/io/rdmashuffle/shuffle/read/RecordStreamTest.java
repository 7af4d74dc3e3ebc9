// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Function2;
import scala.Tuple2;
import scala.Tuple3;

/** Tasks that end under a thread that reads for them: no executor is to blame for that. */
@Tag("unit")
@Timeout(60)
class RecordStreamTest {
    private static final BlockManagerId OWNER = BlockManagerId.apply("1", "localhost", 7337, scala.Option.empty());
    private static final ShuffleBlockId BLOCK = new ShuffleBlockId(0, 0, 0);

    /** What Spark makes of its fetch's streams: an IOException of theirs is the failure of a fetch. */
    private static class Fetched extends InputStream {
        private final byte[] bytes;
        private int position;
        private volatile boolean closed;

        Fetched(int length) {
            this.bytes = new byte[length];
            Arrays.fill(bytes, (byte) 7);
        }

        @Override
        public int read() {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0];
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            if (closed) {
                throw failure();
            }
            int count = Math.min(length, bytes.length - position);
            System.arraycopy(bytes, position, target, offset, count);
            position += count;
            return count == 0 ? -1 : count;
        }

        @Override
        public void close() {
            closed = true;
        }

        static RuntimeException failure() {
            return Unchecked.raise(new FetchFailedException(OWNER, 0, 0, 0, 0, "stream is closed", null));
        }
    }

    /** Spark's fetch of streams that are there already. */
    private static final class Fetches implements FetchedBlocks.Fetch {
        private final Iterator<InputStream> streams;
        private final List<Runnable> atEnd = new ArrayList<>();

        Fetches(Iterator<InputStream> streams) {
            this.streams = streams;
        }

        @Override
        public scala.collection.Iterator<Tuple2<BlockId, InputStream>> start(
                List<BlockRequest> blocks, Function2<BlockId, InputStream, InputStream> wrap, boolean inBatches) {
            return ScalaCollections.iterator(new Iterator<Tuple2<BlockId, InputStream>>() {
                @Override
                public boolean hasNext() {
                    return streams.hasNext();
                }

                @Override
                public Tuple2<BlockId, InputStream> next() {
                    return new Tuple2<>(BLOCK, streams.next());
                }
            });
        }

        @Override
        public void atEnd(Runnable action) {
            atEnd.add(action);
        }
    }

    private static Frames frames() {
        return Frames.of(new SparkConf(false));
    }

    private static BlockRequest wanted() {
        return new BlockRequest(OWNER, new Tuple3<>(BLOCK, 1L, 0));
    }

    private static RecordStream over(Fetches fetches, boolean visible) {
        List<BlockRequest> wanted = List.of(wanted());
        BlockReader inPlace = new BlockReader(
                visible ? wanted : List.of(),
                new HashMap<>(),
                () -> {},
                new ReadTally(new TempShuffleReadMetrics(), new ShuffleCounters(), false, true),
                true,
                frames());
        return new RecordStream(inPlace, visible ? List.of() : wanted, fetches, frames(), false);
    }

    private static void assertEnded(RecordStream stream) {
        assertThatThrownBy(() -> stream.read(new byte[10]))
                .isExactlyInstanceOf(IOException.class)
                .hasMessage("the task that read these blocks has ended");
        assertThatThrownBy(stream::read).isExactlyInstanceOf(IOException.class);
    }

    @Test
    void streamsFollowOneAnother() throws IOException {
        List<Fetched> streams = List.of(new Fetched(1_000), new Fetched(0), new Fetched(500));
        RecordStream stream = over(new Fetches(List.<InputStream>copyOf(streams).iterator()), false);
        assertThat(stream.readAllBytes()).hasSize(1_500).containsOnly(7);
        assertThat(stream.read()).isEqualTo(-1);
        assertThat(streams).allMatch(each -> each.closed);
        stream.close();
        stream.close();
    }

    @Test
    void aFetchedStreamIsNotAskedOnceTheTaskHasEnded() throws IOException {
        Fetched first = new Fetched(1_000);
        Fetched second = new Fetched(1_000);
        RecordStream stream =
                over(new Fetches(List.<InputStream>of(first, second).iterator()), false);
        assertThat(stream.read(new byte[100])).isEqualTo(100);
        stream.close();
        assertThat(first.closed).isTrue();
        assertEnded(stream);
        assertThat(second.position).isZero();
    }

    /** Spark's stream would report a fetch failure, however the reader handles it. */
    @Test
    void aStreamIsNotClosedUnderTheReader() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Fetched slow = new Fetched(1_000) {
            @Override
            public int read(byte[] target, int offset, int length) {
                reading.countDown();
                await(goOn);
                return super.read(target, offset, length);
            }
        };
        RecordStream stream = over(new Fetches(List.<InputStream>of(slow).iterator()), false);
        CompletableFuture<Integer> read = CompletableFuture.supplyAsync(() -> {
            try {
                return stream.read(new byte[100]);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        await(reading);
        CompletableFuture<Void> closed = CompletableFuture.runAsync(stream::close);
        Thread.sleep(50);
        assertThat(closed).isNotDone();
        goOn.countDown();
        assertThat(read.get(20, TimeUnit.SECONDS)).isEqualTo(100);
        closed.get(20, TimeUnit.SECONDS);
        assertThat(slow.closed).isTrue();
        assertEnded(stream);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void theTaskEndsWithoutWaitingForAStreamThatDoesNotCome() throws Exception {
        CountDownLatch asking = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Fetched late = new Fetched(1_000);
        Fetches fetches = new Fetches(new Iterator<>() {
            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public InputStream next() {
                asking.countDown();
                await(goOn);
                return late;
            }
        });
        RecordStream stream = over(fetches, false);
        CompletableFuture<Throwable> failure = CompletableFuture.supplyAsync(
                () -> org.assertj.core.api.Assertions.catchThrowable(() -> stream.read(new byte[100])));
        await(asking);
        stream.close();
        goOn.countDown();
        assertThat(failure.get(20, TimeUnit.SECONDS)).isExactlyInstanceOf(IOException.class);
        assertThat(late.closed).isTrue();
    }

    /** What Spark has fetched it releases when the task ends, and then it fails to hand that out. */
    @Test
    void noFetchFailsBecauseTheTaskHasEnded() throws Exception {
        RecordStream[] itself = new RecordStream[1];
        Fetches fetches = new Fetches(new Iterator<>() {
            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public InputStream next() {
                itself[0].close();
                throw Fetched.failure();
            }
        });
        itself[0] = over(fetches, false);
        assertEnded(itself[0]);
    }

    @Test
    void blocksThatWereNotVisibleAreFetchedUntilTheTaskEnds() throws IOException {
        Fetched missed = new Fetched(1_000);
        Fetches fetches = new Fetches(List.<InputStream>of(missed).iterator());
        RecordStream stream = over(fetches, true);
        assertThat(fetches.atEnd).isEmpty();
        assertThat(stream.read(new byte[100])).isEqualTo(100);
        assertThat(fetches.atEnd).hasSize(1);
        fetches.atEnd.forEach(Runnable::run);
        assertThat(missed.closed).isTrue();
        assertEnded(stream);
    }
}
