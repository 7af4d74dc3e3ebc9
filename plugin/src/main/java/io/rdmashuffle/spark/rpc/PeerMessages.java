// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryCodecException;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.shuffle.serve.ReservedShuffle;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handler of peers' messages: membership changes to apply and forward, queries for a snapshot, and the repair of missed
 * changes.
 *
 * <p><b>Threading:</b> thread-safe. One daemon thread applies changes; queries are answered on the receiving thread,
 * which encodes the answer: some milliseconds for 10,000 members.
 *
 * <p><b>Ownership:</b> owns the thread.
 */
public final class PeerMessages implements ReservedShuffle, AutoCloseable {
    /** As long as a block of memory that Spark would fetch at once; all members of the largest cluster. */
    static final int MAX_BYTES = 64 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(PeerMessages.class);
    private static final int MAX_QUEUED = 256;
    private static final int REPAIR_DELAY_MILLIS = 100;
    /** Then it is left to lookups and sweeps. */
    private static final int MAX_REPAIRS = 50;

    private final RegistryAgent agent;
    private final RegistryCodec codec;
    private final Executor repairs;
    private final AtomicBoolean isRepairing = new AtomicBoolean();
    private final ThreadPoolExecutor inbox;

    /**
     * Starts.
     *
     * @param repairs runs what waits for peers or the driver
     */
    public PeerMessages(RegistryAgent agent, RegistryCodec codec, Executor repairs) {
        this.agent = agent;
        this.codec = codec;
        this.repairs = repairs;
        this.inbox = new ThreadPoolExecutor(
                1, 1, 1, TimeUnit.MINUTES, new ArrayBlockingQueue<>(MAX_QUEUED), new DaemonThreads("registry"));
        inbox.allowCoreThreadTimeOut(true);
    }

    /** Handles a change and returns at once. Throws {@link RejectedExecutionException} if too many wait. */
    public void take(Relay relay) {
        inbox.execute(() -> {
            try {
                agent.onRelay(relay);
                repairSoon();
            } catch (RuntimeException e) {
                LOG.warn("Cannot forward a membership change; executors learn of it at their next sweep", e);
            }
        });
    }

    /** Fetches missing changes from peers or the driver, if they are still missing after a delay. */
    public void repairSoon() {
        if (agent.isStale() && isRepairing.compareAndSet(false, true)) {
            repairLater(1);
        }
    }

    private void repairLater(int attempt) {
        CompletableFuture.delayedExecutor(REPAIR_DELAY_MILLIS, TimeUnit.MILLISECONDS, this::runRepair)
                .execute(() -> {
                    boolean again = false;
                    try {
                        again = agent.isStale() && !agent.repair() && attempt < MAX_REPAIRS;
                    } catch (RuntimeException e) {
                        LOG.warn("Cannot fetch missed membership changes; the next sweep retries", e);
                    }
                    if (again) {
                        repairLater(attempt + 1);
                    } else {
                        isRepairing.set(false);
                    }
                });
    }

    private void runRepair(Runnable repair) {
        try {
            repairs.execute(repair);
        } catch (RejectedExecutionException e) {
            LOG.debug("No room for a repair of the membership; the next message tries again", e);
            isRepairing.set(false);
        }
    }

    @Override
    public ManagedBuffer get(BlockId blockId) {
        long atLeast = blockId instanceof ShuffleBlockId asked ? asked.mapId() : Long.MAX_VALUE;
        return new NioManagedBuffer(ByteBuffer.wrap(codec.encode(agent.snapshotFor(atLeast))));
    }

    @Override
    public StreamCallbackWithID receive(BlockId blockId) {
        return new Incoming(blockId);
    }

    private void take(byte[] bytes) throws IOException {
        try {
            RegistryMessage message = codec.decode(bytes);
            if (message instanceof Relay relay) {
                take(relay);
            } else {
                LOG.warn(
                        "Dropping an unexpected {} of a peer",
                        message.getClass().getSimpleName());
            }
        } catch (RegistryCodecException e) {
            LOG.warn("Dropping a malformed registry message of a peer", e);
        } catch (RejectedExecutionException e) {
            // The one thing that the peer must hear, so that another member passes the change on.
            throw new IOException("too many membership changes wait to be forwarded", e);
        }
    }

    /** Ends the thread; what waits is dropped. Idempotent. */
    @Override
    public void close() {
        inbox.shutdownNow();
    }

    /** Buffer of an upload; used by one of Spark's threads. */
    private final class Incoming implements StreamCallbackWithID {
        private final BlockId blockId;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Incoming(BlockId blockId) {
            this.blockId = blockId;
        }

        @Override
        public String getID() {
            return blockId.name();
        }

        @Override
        public void onData(String streamId, ByteBuffer data) throws IOException {
            if (data.remaining() > MAX_BYTES - bytes.size()) {
                throw new IOException("a registry message of a peer has more than " + MAX_BYTES + " bytes");
            }
            byte[] chunk = new byte[data.remaining()];
            data.get(chunk);
            bytes.write(chunk);
        }

        @Override
        public void onComplete(String streamId) throws IOException {
            take(bytes.toByteArray());
        }

        @Override
        public void onFailure(String streamId, Throwable cause) {
            LOG.debug("A registry message of a peer broke off", cause);
        }
    }
}
