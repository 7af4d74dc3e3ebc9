// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.jspecify.annotations.Nullable;

/** Records what a fetch brought; it copies blocks at once, so it holds no memory. */
final class Answered implements BlockFetchingListener {
    private final Map<String, Integer> answers = new HashMap<>();
    private final Map<String, byte[]> blocks = new HashMap<>();
    private final Map<String, Throwable> failures = new HashMap<>();

    @Override
    public synchronized void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
        try (InputStream in = data.createInputStream()) {
            blocks.put(blockId, in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        answered(blockId);
    }

    @Override
    public synchronized void onBlockFetchFailure(String blockId, Throwable exception) {
        failures.put(blockId, exception);
        answered(blockId);
    }

    private void answered(String blockId) {
        answers.merge(blockId, 1, Integer::sum);
        notifyAll();
    }

    synchronized void await(int blockCount) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (answers.size() < blockCount && System.nanoTime() - end < 0) {
            wait(100);
        }
        assertThat(answers).hasSize(blockCount);
    }

    synchronized Map<String, Integer> answersById() {
        return Map.copyOf(answers);
    }

    synchronized int successes() {
        return blocks.size();
    }

    synchronized byte[] block(String blockId) {
        return Objects.requireNonNull(blocks.get(blockId), () -> blockId + " failed: " + failures.get(blockId));
    }

    synchronized byte @Nullable [] blockOrNull(String blockId) {
        return blocks.get(blockId);
    }

    synchronized Throwable failure(String blockId) {
        return Objects.requireNonNull(failures.get(blockId), blockId);
    }
}
