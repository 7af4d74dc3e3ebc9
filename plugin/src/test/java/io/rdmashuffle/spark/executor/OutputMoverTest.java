// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;

@Tag("unit")
@Timeout(60)
class OutputMoverTest {
    private static final Duration TIMEOUT = Duration.ofMillis(200);

    @TempDir
    Path local;

    private final Service service = new Service();
    private final OutputMover mover = mover(Duration.ofSeconds(30));

    /** Knows the directories of executor 1; keeps questions about others. */
    private final class Service extends BlockStoreClient {
        private final BlockingQueue<CompletableFuture<Map<String, String[]>>> questions = new LinkedBlockingQueue<>();

        @Override
        public void getHostLocalDirs(
                String host, int port, String[] execIds, CompletableFuture<Map<String, String[]>> answer) {
            if (execIds[0].equals("1")) {
                answer.complete(Map.of("1", new String[] {local.toString()}));
            } else {
                questions.add(answer);
            }
        }

        @Override
        public void fetchBlocks(
                String host,
                int port,
                String executorId,
                String[] blockIds,
                BlockFetchingListener listener,
                DownloadFileManager files) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            // Has no connections.
        }
    }

    private OutputMover mover(Duration timeout) {
        return new OutputMover(service, BlockManagerId.apply("8", "localhost", 7337, Option.empty()), timeout, 0);
    }

    @AfterEach
    void close() {
        mover.close();
    }

    private static MoveToDisk outputsOf(String executorId) {
        return new MoveToDisk(executorId, Set.of(3));
    }

    private static void assertRefused(CompletableFuture<RegistryMessage> answer, String reason) throws Exception {
        RegistryMessage message = answer.get(30, TimeUnit.SECONDS);
        assertThat(message).isInstanceOf(Refused.class);
        assertThat(((Refused) message).reason()).contains(reason);
    }

    @Test
    void linksBecomeFiles() throws Exception {
        Path region = Files.write(Files.createTempFile("region", ""), new byte[] {1, 2, 3});
        try {
            Path folder = Files.createDirectory(local.resolve("0a"));
            Path data = Files.createSymbolicLink(folder.resolve("shuffle_3_5_0.data"), region);
            Files.write(
                    folder.resolve("shuffle_3_5_0.index"),
                    ByteBuffer.allocate(2 * Long.BYTES).putLong(1).putLong(3).array());
            assertThat(mover.move(outputsOf("1")).get(30, TimeUnit.SECONDS)).isInstanceOf(Taken.class);
            assertThat(Files.isSymbolicLink(data)).isFalse();
            assertThat(Files.readAllBytes(data)).containsExactly(0, 2, 3);
        } finally {
            Files.delete(region);
        }
    }

    @Test
    void anExecutorThatTheServiceDoesNotKnowIsRefused() throws Exception {
        CompletableFuture<RegistryMessage> unknown = mover.move(outputsOf("2"));
        service.questions.take().complete(Map.of());
        assertRefused(unknown, "does not know executor 2");
        CompletableFuture<RegistryMessage> failed = mover.move(outputsOf("3"));
        service.questions.take().completeExceptionally(new IllegalStateException("starting"));
        assertRefused(failed, "does not say where executor 3");
        try (OutputMover impatient = mover(TIMEOUT)) {
            assertRefused(impatient.move(outputsOf("4")), "does not say where executor 4");
        }
    }

    @Test
    void requestsAreRefusedAtTheEndAndIfThereAreTooMany() throws Exception {
        List<CompletableFuture<RegistryMessage>> answers = new ArrayList<>();
        answers.add(mover.move(outputsOf("2")));
        CompletableFuture<Map<String, String[]>> unanswered = service.questions.take();
        for (int i = 0; i < 10; i++) {
            answers.add(mover.move(outputsOf("2")));
        }
        assertRefused(answers.get(10), "too many");
        mover.close();
        for (CompletableFuture<RegistryMessage> answer : answers) {
            assertRefused(answer, "");
        }
        assertRefused(mover.move(outputsOf("1")), "this executor ends");
        assertThat(unanswered).isNotDone();
    }
}
