// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmashuffle.shuffle.read.TransferClient.Heir;
import io.rdmashuffle.shuffle.read.TransferClient.Heirs;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;
import scala.Tuple3;

@Tag("unit")
@Timeout(60)
class TransferClientTest {
    private static final Duration LONG = Duration.ofMinutes(10);

    private final ShuffleCounters counters = new ShuffleCounters();
    private final Answered answered = new Answered();

    /** A client that answers nothing by itself. */
    private static final class Silent extends BlockStoreClient {
        private final AtomicReference<BlockFetchingListener> listener = new AtomicReference<>();
        private final List<String> requests = new CopyOnWriteArrayList<>();
        private boolean isClosed;

        @Override
        public void fetchBlocks(
                String host,
                int port,
                String execId,
                String[] ids,
                BlockFetchingListener answers,
                DownloadFileManager downloads) {
            listener.set(answers);
            requests.add(host + ":" + port + " of " + execId + ": " + List.of(ids));
            if (isClosed) {
                throw new IllegalStateException("closed");
            }
        }

        @Override
        public void close() {}
    }

    private static NioManagedBuffer block() {
        return new NioManagedBuffer(ByteBuffer.allocate(10));
    }

    private BlockFetchingListener fetch(TransferClient client, Silent transfer, List<String> ids) throws IOException {
        try (BlockStoreClient forTask = client.client(id -> id.startsWith("file"))) {
            forTask.fetchBlocks("host", 1, "1", ids.toArray(String[]::new), answered, null);
        }
        return Objects.requireNonNull(transfer.listener.get());
    }

    @Test
    void relaysFirstAnswerToEachBlock() throws Exception {
        long seed = System.nanoTime();
        System.out.println("TransferClientTest seed " + seed);
        List<String> ids = IntStream.range(0, 500).mapToObj(i -> "b" + i).toList();
        Silent transfer = new Silent();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, TransferClient.Heirs.NONE)) {
            BlockFetchingListener answers = fetch(client, transfer, ids);
            CompletableFuture<?>[] threads = IntStream.range(0, 4)
                    .mapToObj(t -> CompletableFuture.runAsync(() -> answerAll(answers, ids, new Random(seed + t))))
                    .toArray(CompletableFuture[]::new);
            CompletableFuture.allOf(threads).join();
            ids.forEach(id -> answers.onBlockFetchFailure(id, new IOException("late")));
        }
        assertThat(answered.answersById())
                .containsOnlyKeys(ids)
                .allSatisfy((id, count) -> assertThat(count).isOne());
        assertThat(counters.snapshot().get(ShuffleCounter.NETTY_BYTES))
                .as("bytes of relayed blocks only")
                .isEqualTo(10L * answered.successes());
    }

    private static void answerAll(BlockFetchingListener answers, List<String> ids, Random random) {
        for (int i = 0; i < 2000; i++) {
            String id = ids.get(random.nextInt(ids.size()));
            if (random.nextBoolean()) {
                answers.onBlockFetchSuccess(id, block());
            } else {
                answers.onBlockFetchFailure(id, new IOException("no luck"));
            }
        }
    }

    @Test
    void ignoresBlocksThatWereNotRequested() throws Exception {
        Silent transfer = new Silent();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, TransferClient.Heirs.NONE)) {
            fetch(client, transfer, List.of("a")).onBlockFetchSuccess("b", block());
        }
        assertThat(answered.answersById()).isEmpty();
    }

    @Test
    void countsBlocksOfFilesApart() throws Exception {
        Silent transfer = new Silent();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, TransferClient.Heirs.NONE)) {
            BlockFetchingListener answers = fetch(client, transfer, List.of("a", "file", "file2"));
            List.of("a", "file", "file2").forEach(id -> answers.onBlockFetchSuccess(id, block()));
        }
        assertThat(counters.snapshot())
                .containsEntry(ShuffleCounter.NETTY_BYTES, 10L)
                .containsEntry(ShuffleCounter.FILE_BYTES, 20L);
    }

    @Test
    void recognizesBatchesOfBlocksInFiles() {
        BlockManagerId owner = BlockManagerId.apply("1", "host", 1, Option.empty());
        BlockRequest inFile = new BlockRequest(owner, new Tuple3<>(new ShuffleBlockId(4, 99, 0), 1L, 0));
        BlockRequest other = new BlockRequest(owner, new Tuple3<>(new ShuffleBlockId(4, 98, 0), 1L, 0));
        inFile.locate(BlockLocation.Elsewhere.FILE);
        Predicate<String> inFiles = SparkFetch.inFiles(List.of(other, inFile));
        assertThat(inFiles).accepts("shuffle_4_99_0", "shuffle_4_99_0_5").rejects("shuffle_4_98_0", "shuffle_4_98_0_5");
    }

    @Test
    void failsBlocksThatDoNotArriveInTime() throws Exception {
        Silent transfer = new Silent();
        try (TransferClient client =
                new TransferClient(transfer, counters, Duration.ofMillis(20), TransferClient.Heirs.NONE)) {
            BlockFetchingListener answers = fetch(client, transfer, List.of("a", "b"));
            answers.onBlockFetchSuccess("a", block());
            answered.await(2);
            assertThat(answered.failure("b")).hasMessageContaining("spark.shuffle.rdma.fetch.timeout");
            answers.onBlockFetchSuccess("b", block());
        }
        assertThat(answered.answersById()).containsEntry("b", 1);
    }

    @Test
    void failsAllBlocksAfterClose() throws Exception {
        Silent transfer = new Silent();
        TransferClient client = new TransferClient(transfer, counters, LONG, TransferClient.Heirs.NONE);
        client.close();
        try (BlockStoreClient forTask = client.client(id -> false)) {
            forTask.fetchBlocks("host", 1, "1", new String[] {"a"}, answered, null);
        }
        assertThat(answered.failure("a")).isInstanceOf(RejectedExecutionException.class);
    }

    @Test
    void failsAllBlocksWhenTheTransferThrows() throws Exception {
        Silent transfer = new Silent();
        transfer.isClosed = true;
        try (TransferClient client = new TransferClient(transfer, counters, LONG, TransferClient.Heirs.NONE)) {
            fetch(client, transfer, List.of("a", "b"));
        }
        assertThat(answered.failure("a")).hasMessage("closed");
        assertThat(answered.failure("b")).hasMessage("closed");
    }

    /** Heirs that are known, and searches for others. */
    private static final class TestHeirs implements Heirs {
        private final Map<String, Heir> known = new ConcurrentHashMap<>();
        private final Map<String, CompletableFuture<Optional<Heir>>> awaited = new ConcurrentHashMap<>();

        @Override
        public Optional<Heir> of(String executorId) {
            return Optional.ofNullable(known.get(executorId));
        }

        @Override
        public CompletableFuture<Optional<Heir>> await(String executorId, String tried) {
            return awaited.computeIfAbsent(executorId + " not " + tried, key -> new CompletableFuture<>());
        }
    }

    @Test
    void blocksWaitForAnHeirAfterTheConnectionFailed() throws Exception {
        Silent transfer = new Silent();
        TestHeirs heirs = new TestHeirs();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, heirs)) {
            BlockFetchingListener answers = fetch(client, transfer, List.of("a", "b", "c"));
            answers.onBlockFetchSuccess("a", block());
            answers.onBlockFetchFailure("b", new IOException("reset"));
            answers.onBlockFetchFailure("c", new IllegalStateException("answered by a living executor"));
            assertThat(answered.answersById()).containsOnlyKeys("a", "c");

            Objects.requireNonNull(heirs.awaited.get("1 not 1")).complete(Optional.of(new Heir("2", "other", 7)));
            assertThat(transfer.requests).containsExactly("host:1 of 1: [a, b, c]", "other:7 of 2: [b]");
            BlockFetchingListener second = Objects.requireNonNull(transfer.listener.get());
            second.onBlockFetchFailure("b", new IllegalStateException("an heir that ends has no such block"));
            Objects.requireNonNull(heirs.awaited.get("1 not 2")).complete(Optional.of(new Heir("3", "third", 8)));
            Objects.requireNonNull(transfer.listener.get()).onBlockFetchSuccess("b", block());
        }
        assertThat(answered.answersById()).containsEntry("b", 1);
        assertThat(answered.successes()).isEqualTo(2);
    }

    /** Spark's client would try the dead executor again. */
    @Test
    void blocksDoNotWaitForSparksRetryOnceThereIsAnHeir() throws Exception {
        Silent transfer = new Silent();
        TestHeirs heirs = new TestHeirs();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, heirs)) {
            BlockFetchingListener first = fetch(client, transfer, List.of("a", "b", "c"));
            first.onBlockFetchSuccess("a", block());
            heirs.known.put("1", new Heir("2", "other", 7));
            await().atMost(LONG).until(() -> heirs.awaited.containsKey("1 not 1"));
            assertThat(transfer.requests)
                    .as("not on the thread of the deadlines")
                    .hasSize(1);
            Objects.requireNonNull(heirs.awaited.get("1 not 1")).complete(Optional.of(new Heir("2", "other", 7)));
            await().atMost(LONG).until(() -> transfer.requests.size() == 2);
            assertThat(transfer.requests.get(1)).startsWith("other:7 of 2: [").contains("b", "c");

            first.onBlockFetchFailure("c", new IOException("refused"));
            assertThat(transfer.requests).as("2 has been asked").hasSize(2);
            BlockFetchingListener second = Objects.requireNonNull(transfer.listener.get());
            second.onBlockFetchSuccess("b", block());
            second.onBlockFetchSuccess("c", block());
        }
        assertThat(answered.answersById()).containsOnlyKeys("a", "b", "c");
        assertThat(answered.successes()).isEqualTo(3);
    }

    @Test
    void blocksFailWithTheirCauseIfThereIsNoHeir() throws Exception {
        Silent transfer = new Silent();
        TestHeirs heirs = new TestHeirs();
        try (TransferClient client = new TransferClient(transfer, counters, LONG, heirs)) {
            BlockFetchingListener answers = fetch(client, transfer, List.of("a", "b"));
            answers.onBlockFetchFailure("a", new IOException("reset"));
            answers.onBlockFetchFailure("b", new IOException("refused"));
            assertThat(answered.answersById()).isEmpty();
            Objects.requireNonNull(heirs.awaited.get("1 not 1")).complete(Optional.empty());
        }
        assertThat(answered.failure("a")).hasMessage("reset");
        assertThat(answered.failure("b")).hasMessage("refused");
    }

    @Test
    void blocksOfAnExecutorWithAnHeirAreFetchedFromThere() throws Exception {
        Silent transfer = new Silent();
        TestHeirs heirs = new TestHeirs();
        heirs.known.put("1", new Heir("2", "other", 7));
        try (TransferClient client = new TransferClient(transfer, counters, LONG, heirs)) {
            fetch(client, transfer, List.of("a")).onBlockFetchSuccess("a", block());
        }
        assertThat(transfer.requests).containsExactly("other:7 of 2: [a]");
    }
}
