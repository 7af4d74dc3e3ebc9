// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receiver of map outputs of decommissioned executors, in the pool if it has room, otherwise as Spark's files.
 *
 * <p>An output comes as two blocks, data and index, in either order. No reader sees either until both are there and
 * agree; then it is published as if a task of this executor had written it, and reported to the driver.
 *
 * <p>Blocks of a shuffle that has been removed are taken and dropped without a complaint, because Spark sends a peer
 * that refuses one block no further ones.
 *
 * <p><b>Threading:</b> thread-safe; blocks arrive on threads of Spark's transport, which never wait for room.
 *
 * <p><b>Ownership:</b> owns received blocks until they are complete, fail, receive no data for the timeout, or their
 * shuffle is removed; and the timer's thread.
 */
public final class IncomingOutputs implements IncomingBlock.Owner, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingOutputs.class);

    /**
     * A sender sends a peer one block at a time; of more waiting halves than this, the oldest are of senders that died.
     */
    private static final int MAX_WAITING = 1024;

    private static final int SWEEPS_IN_TIMEOUT = 4;
    private static final long IDLE_SECONDS = 30;

    private final TieredPool pool;
    private final long chunkBytes;
    private final MapOutputStore store;
    private final PoolLimits limits;
    private final Duration timeout;
    private final ScheduledThreadPoolExecutor timer;
    /** Blocks that are arriving, and complete ones that wait for their other half; oldest first. */
    private final Set<IncomingBlock> live = new LinkedHashSet<>();
    /** The complete ones of {@link #live}. */
    private final Map<OutputKey, IncomingBlock> waiting = new HashMap<>();

    private @Nullable Future<?> nextSweep;
    private boolean closed;

    /**
     * Creates the receiving side of one executor.
     *
     * @param chunkBytes unit in which an output grows
     * @param limits which outputs go to files altogether
     * @param store where complete ones are kept and published
     * @param timeout how long an incomplete output is kept without new data
     */
    public IncomingOutputs(
            TieredPool pool, long chunkBytes, PoolLimits limits, MapOutputStore store, Duration timeout) {
        this.pool = pool;
        this.chunkBytes = chunkBytes;
        this.store = store;
        this.limits = limits;
        this.timeout = timeout;
        this.timer = new ScheduledThreadPoolExecutor(1, new DaemonThreads("migration"));
        timer.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        timer.allowCoreThreadTimeOut(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /**
     * Starts to receive one block of an output.
     *
     * @throws IOException if it is no such block, or this executor is stopping
     */
    public StreamCallbackWithID receive(BlockId blockId, MigrationTarget target) throws IOException {
        IncomingBlock block;
        if (blockId instanceof ShuffleDataBlockId data) {
            OutputKey key = new OutputKey(data.shuffleId(), data.mapId());
            block = data(blockId.name(), key, store.epoch(key.shuffleId()), target);
        } else if (blockId instanceof ShuffleIndexBlockId index) {
            OutputKey key = new OutputKey(index.shuffleId(), index.mapId());
            block = new IncomingBlock.Index(blockId.name(), key, store.epoch(key.shuffleId()), target, this);
        } else {
            throw new IOException("block " + blockId + " is neither data nor index of a map output");
        }
        synchronized (this) {
            if (closed) {
                throw new IOException("block " + blockId + " was refused: this executor is stopping");
            }
            live.add(block);
            scheduleSweep();
        }
        return block;
    }

    private IncomingBlock.Data data(String name, OutputKey key, int epoch, MigrationTarget target) {
        ChunkedOutput pooled = new ChunkedOutput(pool, WaitPolicy.NONE, chunkBytes, 0, false);
        return new IncomingBlock.Data(name, key, epoch, target, this, pooled);
    }

    /** Drops the incomplete outputs of a shuffle; call it after the store has removed the shuffle. */
    public synchronized void removeShuffle(int shuffleId) {
        List.copyOf(live).stream()
                .filter(block -> block.key().shuffleId() == shuffleId)
                .forEach(this::forget);
    }

    /** Returns the number of blocks that are arriving or wait for their other half. */
    synchronized int outstanding() {
        return live.size();
    }

    /** Drops everything; idempotent. To be closed before the store and the pool. */
    @Override
    public synchronized void close() {
        closed = true;
        timer.shutdownNow();
        List.copyOf(live).forEach(this::forget);
    }

    @Override
    public void completed(IncomingBlock block) throws IOException {
        IncomingBlock other = otherHalf(block);
        if (other == null) {
            return;
        }
        try {
            if (block instanceof IncomingBlock.Index index && other instanceof IncomingBlock.Data data) {
                adopt(data, index);
            } else if (block instanceof IncomingBlock.Data data && other instanceof IncomingBlock.Index index) {
                adopt(data, index);
            }
        } finally {
            block.discard();
            other.discard();
        }
    }

    /**
     * Accepts an output. One whose shuffle has been removed is dropped silently.
     *
     * @throws IOException if data and index are not what the writer wrote, or there is no room even on disk
     */
    private void adopt(IncomingBlock.Data data, IncomingBlock.Index indexBlock) throws IOException {
        MigratedIndex index = indexBlock.index();
        try {
            if (keep(data, index)) {
                long indexBytes = Long.BYTES * (index.lengths().length + 1L);
                data.target().report(data.key(), index.totalBytes(), indexBytes);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while publishing migrated " + data.key());
        }
    }

    /** Makes the output visible here; false if its shuffle is gone. */
    private boolean keep(IncomingBlock.Data data, MigratedIndex index) throws IOException, InterruptedException {
        OutputKey key = data.key();
        long bornNanos = System.nanoTime() - index.age().toNanos();
        int partitions = index.lengths().length;
        int[] checksums = data.verified(index);
        boolean mayPool = limits.reasonAgainst(partitions).isEmpty();
        MapOutput output = mayPool ? data.toMapOutput(index.lengths(), checksums) : null;
        if (output != null) {
            return store.adopt(key.shuffleId(), data.epoch(), output, bornNanos);
        }
        data.target().commitFiles(key, index.lengths(), data.toFile());
        boolean wanted = store.adoptFile(key, data.epoch(), partitions, index.totalBytes(), bornNanos);
        if (!wanted) {
            data.target().removeFiles(key);
        }
        return wanted;
    }

    /** {@inheritDoc} Its other half goes too, because the sender will send both again. */
    @Override
    public synchronized void failed(IncomingBlock block) {
        forget(block);
        IncomingBlock other = waiting.get(block.key());
        if (other != null && other.epoch() == block.epoch()) {
            forget(other);
        }
    }

    /**
     * Returns the other half, when both are the caller's; null if this one waits now, or its shuffle has been removed.
     */
    private synchronized @Nullable IncomingBlock otherHalf(IncomingBlock block) throws IOException {
        if (!closed && isGone(block)) {
            failed(block);
            return null;
        }
        if (!live.remove(block)) {
            throw new IOException("block " + block.getID() + " came too late: its map output has been dropped");
        }
        IncomingBlock other = waiting.remove(block.key());
        if (other != null) {
            live.remove(other);
        }
        boolean isPair = other != null && other.getClass() != block.getClass() && other.epoch() == block.epoch();
        if (isPair) {
            return other;
        }
        if (other != null) {
            // The same half sent again after a failure that only the sender saw, or a half of the shuffle's last life.
            other.discard();
        }
        if (block instanceof IncomingBlock.Index index && index.index().totalBytes() == 0) {
            return data(block.getID(), block.key(), block.epoch(), block.target());
        }
        await(block);
        return null;
    }

    private boolean isGone(IncomingBlock block) {
        long ageNanos =
                block instanceof IncomingBlock.Index index ? index.index().age().toNanos() : 0;
        return store.isGone(block.key().shuffleId(), block.epoch(), System.nanoTime() - ageNanos);
    }

    private void await(IncomingBlock block) {
        waiting.put(block.key(), block);
        live.add(block);
        if (waiting.size() > MAX_WAITING) {
            live.stream().filter(waiting::containsValue).findFirst().ifPresent(this::forget);
        }
        scheduleSweep();
    }

    private synchronized void forget(IncomingBlock block) {
        live.remove(block);
        waiting.remove(block.key(), block);
        block.discard();
    }

    private void scheduleSweep() {
        if (nextSweep == null && !closed && !live.isEmpty()) {
            nextSweep = timer.schedule(this::sweep, timeout.toNanos() / SWEEPS_IN_TIMEOUT, TimeUnit.NANOSECONDS);
        }
    }

    private synchronized void sweep() {
        nextSweep = null;
        for (IncomingBlock block : List.copyOf(live)) {
            if (block.idleNanos() > timeout.toNanos()) {
                LOG.warn(
                        "Dropping migrated block {}: no data for {} (spark.shuffle.rdma.migration.timeout)",
                        block.getID(),
                        Quantities.duration(timeout));
                forget(block);
            }
        }
        scheduleSweep();
    }
}
