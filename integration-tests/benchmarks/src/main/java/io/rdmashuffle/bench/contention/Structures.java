// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.contention;

import io.rdmashuffle.bench.micro.BenchExecutor;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.fabric.tcp.TcpSettings;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The structures that a block or a lease passes in an executor.
 *
 * <p><b>Ownership:</b> owns two executors, one that reads in place and one that copies, and the fabrics of a third.
 */
final class Structures implements AutoCloseable {
    private static final int MAPS = 200;
    private static final int PARTITIONS = 1_000;
    private static final int LEASE_BYTES = 4096;
    private static final int READ_BYTES = 64;
    private static final int READS_OUTSTANDING = 16;
    private static final long POOL_BYTES = 16 << 20;
    private static final long MAX_IN_FLIGHT = 48 << 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final BenchExecutor mapped = new BenchExecutor(true);
    private final BenchExecutor copied = new BenchExecutor(false);
    private final TcpFabric owner = tcp();
    private final TcpFabric reader = tcp();
    private final Pool ownerPool = pool(owner);
    private final Pool readerPool = pool(reader);
    private final Peer peer;
    private final Lease target;
    private final Lease readTarget;
    private final List<Structure> all = new ArrayList<>();

    Structures() throws Exception {
        for (int map = 0; map < MAPS; map++) {
            mapped.publish(map, PARTITIONS);
            copied.publish(map, PARTITIONS);
        }
        peer = reader.connect("owner", owner.localAddress());
        target = mapped.lease(LEASE_BYTES);
        readTarget = Objects.requireNonNull(
                readerPool.reserve(Purpose.RECEIVE, READ_BYTES, READ_BYTES, Duration.ZERO), "the pool is full");
        all.add(new Structure(
                "pool: lease and release",
                thread -> turn -> mapped.lease(LEASE_BYTES).close()));
        all.add(new Structure("store: acquire and release", thread -> turn -> {
            MapOutput output = Objects.requireNonNull(mapped.store().acquire(BenchExecutor.SHUFFLE, turn % MAPS));
            output.release();
        }));
        RemoteDirectory mappedReader = mapped.reader();
        all.add(new Structure(
                "directory: locate",
                thread -> turn ->
                        Objects.requireNonNull(mappedReader.locate(BenchExecutor.SHUFFLE, (thread + turn) % MAPS))));
        all.add(indexCache());
        ShuffleCounters counters = new ShuffleCounters();
        all.add(new Structure("counters: add", thread -> turn -> counters.add(ShuffleCounter.FETCH_BATCHES, 1)));
        all.add(inFlight());
        all.add(new Structure("TCP: read of " + READ_BYTES + " bytes", thread -> new Reads()));
    }

    private static TcpFabric tcp() {
        return new TcpFabric(new TcpSettings(
                () -> TcpSettings.Host.of("127.0.0.1"),
                TcpSettings.Ports.ANY,
                1,
                TIMEOUT,
                Duration.ofMinutes(5),
                TIMEOUT,
                MAX_IN_FLIGHT,
                Secret.NONE));
    }

    private static Pool pool(TcpFabric fabric) {
        return Pool.create(new PoolSettings(Path.of("/dev/shm"), POOL_BYTES, POOL_BYTES, POOL_BYTES, false), fabric);
    }

    private Structure indexCache() throws Exception {
        RemoteDirectory directory = copied.reader();
        List<DirectoryEntry> entries = new ArrayList<>();
        List<WantedRange> firsts = new ArrayList<>();
        for (int map = 0; map < MAPS; map++) {
            DirectoryEntry entry = Objects.requireNonNull(directory.find(BenchExecutor.SHUFFLE, map));
            entries.add(entry);
            firsts.add(new WantedRange(BenchExecutor.SHUFFLE, entry, 0, 1));
        }
        directory.ranges(firsts);
        return new Structure("index cache: range", thread -> turn -> {
            int partition = (int) (turn % PARTITIONS);
            directory.range(new WantedRange(
                    BenchExecutor.SHUFFLE, entries.get((int) ((thread + turn) % MAPS)), partition, partition + 1));
        });
    }

    private Structure inFlight() {
        InFlightReads reads = new InFlightReads(MAX_IN_FLIGHT);
        List<RemoteSlice> slices = List.of(new RemoteSlice(0, 0, LEASE_BYTES));
        ReadRequest.Listener nobody = new Ended(() -> {});
        return new Structure(
                "in-flight limit: admit and end",
                thread -> turn -> reads.admit(
                        new ReadRequest(slices, target, Long.MAX_VALUE, nobody),
                        request -> reads.succeed(request, System.nanoTime())));
    }

    List<Structure> all() {
        return all;
    }

    @Override
    public void close() {
        peer.close();
        reader.close();
        owner.close();
        readTarget.close();
        readerPool.close();
        ownerPool.close();
        target.close();
        mapped.close();
        copied.close();
    }

    /** The end of a read, which must succeed. */
    private record Ended(Runnable action) implements ReadRequest.Listener {
        @Override
        public void succeeded(ReadRequest request) {
            action.run();
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Reads of one thread, some of them outstanding. */
    private final class Reads implements Structure.Operation {
        private final Semaphore free = new Semaphore(READS_OUTSTANDING);
        private final ReadRequest.Listener listener = new Ended(free::release);
        private final List<RemoteSlice> slices = List.of(new RemoteSlice(0, 0, READ_BYTES));

        @Override
        public void run(long turn) throws InterruptedException {
            if (!free.tryAcquire(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("reads do not end");
            }
            peer.read(new ReadRequest(slices, readTarget, System.nanoTime() + TIMEOUT.toNanos(), listener));
        }
    }
}
