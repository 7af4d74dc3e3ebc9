// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads over a fabric from a second one of the same process, with a fixed number of requests outstanding.
 *
 * <p><b>Threading:</b> one thread measures; requests are started again on the fabric's own thread, as they complete.
 *
 * <p><b>Ownership:</b> owns two pools and two fabrics.
 */
final class FabricReader implements AutoCloseable {
    private static final long LIMIT_SECONDS = 120;

    private final Fabric readerFabric;
    private final Fabric ownerFabric;
    private final Pool readerPool;
    private final Pool ownerPool;
    private final Peer peer;

    /**
     * Opens both sides.
     *
     * @param directory where the pools' files lie
     * @param poolBytes size of each pool, one region
     */
    FabricReader(Path directory, long poolBytes, Supplier<Fabric> fabrics) throws Exception {
        this.readerFabric = fabrics.get();
        this.ownerFabric = fabrics.get();
        PoolSettings settings = new PoolSettings(directory, poolBytes, poolBytes, poolBytes, false);
        this.readerPool = Pool.create(settings, readerFabric);
        this.ownerPool = Pool.create(settings, ownerFabric);
        this.peer = readerFabric.connect("bench", ownerFabric.localAddress());
    }

    /** Reads {@code count} times {@code bytes} with {@code depth} outstanding; returns nanoseconds. */
    long run(int bytes, int depth, int count) throws Exception {
        return run(bytes, 1, depth, count);
    }

    /** Reads {@code count} times {@code bytes} in slices of equal length; returns nanoseconds. */
    long run(int bytes, int slices, int depth, int count) throws Exception {
        try (Lease source = reserve(ownerPool, bytes)) {
            Flow flow = new Flow(source, bytes, slices, count);
            Lease[] targets = new Lease[depth];
            try {
                for (int i = 0; i < depth; i++) {
                    targets[i] = reserve(readerPool, bytes);
                }
                long started = System.nanoTime();
                for (int i = 0; i < depth; i++) {
                    flow.next(targets[i]);
                }
                flow.await();
                return System.nanoTime() - started;
            } finally {
                Arrays.stream(targets).forEach(FabricReader::closeIfOpen);
            }
        }
    }

    /** Reads {@code count} times one after another; returns each read's nanoseconds, sorted. */
    long[] latencies(int bytes, int count) throws Exception {
        long[] nanos = new long[count];
        for (int i = 0; i < count; i++) {
            nanos[i] = run(bytes, 1, 1);
        }
        Arrays.sort(nanos);
        return nanos;
    }

    private static void closeIfOpen(@Nullable Lease lease) {
        if (lease != null) {
            lease.close();
        }
    }

    private static Lease reserve(Pool pool, int bytes) throws InterruptedException {
        Lease lease = pool.reserve(Purpose.RECEIVE, bytes, bytes, Duration.ZERO);
        if (lease == null) {
            throw new IllegalStateException("the bench's pool has no room for " + bytes + " bytes");
        }
        return lease;
    }

    @Override
    public void close() {
        peer.close();
        readerFabric.close();
        ownerFabric.close();
        readerPool.close();
        ownerPool.close();
    }

    /** Keeps the same number of requests outstanding until enough have been started. */
    private final class Flow implements ReadRequest.Listener {
        private final List<RemoteSlice> slices;
        private final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        private final CountDownLatch left;
        private final AtomicReference<@Nullable ReadFailedException> failure = new AtomicReference<>();
        private int toStart;

        Flow(Lease source, int bytes, int slices, int count) {
            int length = bytes / slices;
            // Backwards, since neighbouring slices would be one range.
            this.slices = IntStream.iterate(slices - 1, i -> i >= 0, i -> i - 1)
                    .mapToObj(i -> new RemoteSlice(source.region().id(), source.offset() + (long) i * length, length))
                    .collect(Collectors.toUnmodifiableList()); // of which a request makes no copy
            this.left = new CountDownLatch(count);
            this.toStart = count;
        }

        /** Starts a read into a target unless enough have been started. */
        void next(Lease target) {
            synchronized (this) {
                if (toStart == 0) {
                    return;
                }
                toStart--;
            }
            if (!peer.read(new ReadRequest(slices, target, deadline, this))) {
                throw new IllegalStateException("the limit of bytes in flight is below the measured depth");
            }
        }

        void await() throws Exception {
            boolean done = left.await(LIMIT_SECONDS + 10, TimeUnit.SECONDS);
            ReadFailedException failed = failure.get();
            if (failed != null) {
                throw failed;
            }
            if (!done) {
                throw new IllegalStateException("reads did not end within " + LIMIT_SECONDS + " s");
            }
        }

        @Override
        public void succeeded(ReadRequest request) {
            next(request.target());
            left.countDown();
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failed) {
            failure.compareAndSet(null, failed);
            while (left.getCount() > 0) {
                left.countDown();
            }
        }
    }
}
