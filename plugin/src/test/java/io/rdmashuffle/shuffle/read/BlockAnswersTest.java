// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class BlockAnswersTest {
    private static NioManagedBuffer block() {
        return new NioManagedBuffer(ByteBuffer.allocate(10));
    }

    @Test
    void concurrentAnswersReachTheListenerOncePerBlock() {
        long seed = System.nanoTime();
        System.out.println("BlockAnswersTest seed " + seed);
        List<String> ids = IntStream.range(0, 500).mapToObj(i -> "b" + i).toList();
        Answered answered = new Answered();
        ShuffleCounters counters = new ShuffleCounters();
        BlockAnswers answers = new BlockAnswers(ids, answered, counters);
        CompletableFuture<?>[] threads = IntStream.range(0, 4)
                .mapToObj(t -> CompletableFuture.runAsync(() -> answerAll(answers, ids, new Random(seed + t))))
                .toArray(CompletableFuture[]::new);
        CompletableFuture.allOf(threads).join();
        answers.failRest("late");
        assertThat(answers.isComplete()).isTrue();
        assertThat(answered.answersById())
                .containsOnlyKeys(ids)
                .allSatisfy((id, count) -> assertThat(count).isOne());
        assertThat(counters.snapshot().get(ShuffleCounter.SHM_BYTES))
                .as("only what was handed over is counted")
                .isEqualTo(10L * answered.successes());
    }

    private static void answerAll(BlockAnswers answers, List<String> ids, Random random) {
        for (int i = 0; i < 2000; i++) {
            String id = ids.get(random.nextInt(ids.size()));
            if (random.nextBoolean()) {
                answers.succeeded(id, block(), ShuffleCounter.SHM_BYTES);
            } else {
                answers.failed(id, new IOException("no luck"));
            }
        }
    }

    @Test
    void blocksThatWereNotAskedForAreIgnored() {
        Answered answered = new Answered();
        BlockAnswers answers = new BlockAnswers(List.of("a"), answered, new ShuffleCounters());
        answers.succeeded("b", block(), ShuffleCounter.SHM_BYTES);
        assertThat(answered.answersById()).isEmpty();
        assertThat(answers.isComplete()).isFalse();
    }

    @Test
    void theDeadlineFailsWhatIsLeftAndNamesItsKey() throws Exception {
        Answered answered = new Answered();
        BlockAnswers answers = new BlockAnswers(List.of("a", "b"), answered, new ShuffleCounters());
        answers.succeeded("a", block(), ShuffleCounter.SHM_BYTES);
        try (FetchDeadlines deadlines = new FetchDeadlines(Duration.ofMillis(20))) {
            deadlines.watch(answers);
            answered.await(2);
        }
        assertThat(answered.failure("b")).hasMessageContaining("spark.shuffle.rdma.fetch.timeout");
        answers.succeeded("b", block(), ShuffleCounter.SHM_BYTES);
        assertThat(answered.answersById()).containsEntry("b", 1);
    }
}
