// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.EventChannel;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Data threads on a fake device, driven step by step with a manual clock, and one peer: this process itself.
 *
 * <p><b>Threading:</b> one thread, unless a test runs {@link #thread()} on another.
 *
 * <p><b>Ownership:</b> the test closes it, after the data threads have ended.
 */
final class ReadRig implements AutoCloseable, PendingRead.Channels {
    static final int DEPTH = 16;
    static final int MAX_READ_BYTES = 4096;
    static final int SOURCE_BYTES = 64 << 10;
    static final long TIMEOUT_NANOS = Duration.ofSeconds(30).toNanos();
    static final Duration IDLE_TIMEOUT = Duration.ofMinutes(40);
    private static final int FIRST_PAUSE_MILLIS = 51;

    private final FakeRdma rdma;
    private final EventChannel events;
    private final Rail rail;
    private final Pool pool;
    private final Lease source;
    private final byte[] sourceBytes;
    private final FakeControl control;
    private final PendingReads reads = new PendingReads(64 << 20);
    private final List<DataThread> threads = new ArrayList<>();
    private final List<PeerReadChannel> channels = new ArrayList<>();
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 1000);
    private final Outcomes outcomes;
    private final StagingPeer peer = new StagingPeer(this);

    ReadRig(Path directory, Random random) throws InterruptedException {
        this(directory, random, new FakeRdma(), DEPTH, 1);
    }

    ReadRig(Path directory, Random random, FakeRdma rdma, int depth, int lanes) throws InterruptedException {
        this.rdma = rdma;
        this.events = EventChannel.open(rdma.library());
        this.rail = FakeRdma.rail(events, 0);
        this.pool = TestPools.create(directory, 8 << 20, 2 << 20, new Registration(rail));
        this.source = TestPools.filled(pool, SOURCE_BYTES, random);
        this.sourceBytes = TestPools.bytes(source.memory());
        this.control = new FakeControl(events, depth, MAX_READ_BYTES);
        this.outcomes = new Outcomes(rdma.queues());
        for (int lane = 0; lane < lanes; lane++) {
            DataThread thread = new DataThread(lane, rail, control, reads, Duration.ZERO, IDLE_TIMEOUT, clock::get);
            threads.add(thread);
            channels.add(thread.createChannel("7", 77, InetSocketAddress.createUnresolved("peer", 1)));
        }
    }

    private record Registration(Rail rail) implements RegionListener {
        @Override
        public void regionAdded(Region region) {
            rail.register(region);
        }

        @Override
        public void regionRemoved(Region region) {
            rail.unregister(region);
        }
    }

    FakeRdma rdma() {
        return rdma;
    }

    FakeQueues queues() {
        return rdma.queues();
    }

    FakeControl control() {
        return control;
    }

    Outcomes outcomes() {
        return outcomes;
    }

    /** Returns what answers questions about the disk tier. */
    StagingPeer peer() {
        return peer;
    }

    Rail rail() {
        return rail;
    }

    Pool pool() {
        return pool;
    }

    DataThread thread() {
        return threads.get(0);
    }

    List<DataThread> threads() {
        return threads;
    }

    PeerReadChannel channel() {
        return channels.get(0);
    }

    List<PeerReadChannel> channels() {
        return channels;
    }

    @Override
    public void add(PendingRead read, int lane) {
        channels.get(lane).add(read);
    }

    @Override
    public void submitAfter(PendingRead read, int failedLane) {
        threads.get((failedLane + 1) % threads.size()).submit(read);
    }

    void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    /** Lets the pause after a first failure pass. */
    void passPause() {
        pass(Duration.ofMillis(FIRST_PAUSE_MILLIS));
    }

    long now() {
        return clock.get();
    }

    RemoteSlice slice(int offset, int length) {
        return new RemoteSlice(source.region().id(), source.offset() + offset, length);
    }

    /** Returns a slice of the disk tier, where the same bytes lie as in the source, again and again. */
    static RemoteSlice onDisk(int offset, int length) {
        return new RemoteSlice(Region.FIRST_ON_DISK, offset, length);
    }

    byte sourceByte(long offset) {
        return sourceBytes[(int) (offset % SOURCE_BYTES)];
    }

    /** Reads slices of the source one after another. */
    ReadRequest request(RemoteSlice... slices) throws InterruptedException {
        long length = 0;
        for (RemoteSlice slice : slices) {
            length += slice.lengthBytes();
        }
        return new ReadRequest(List.of(slices), TestPools.reserve(pool, Purpose.RECEIVE, length), now(), outcomes);
    }

    /** Hands a request to a data thread; returns it with its deadline. */
    ReadRequest submit(ReadRequest request, int lane, long timeoutNanos) {
        return submit(request, lane, timeoutNanos, outcomes);
    }

    ReadRequest submit(ReadRequest request, int lane, long timeoutNanos, ReadRequest.Listener listener) {
        ReadRequest timed = timed(request, timeoutNanos, listener);
        threads.get(lane).submit(admit(timed, this));
        return timed;
    }

    private ReadRequest timed(ReadRequest request, long timeoutNanos, ReadRequest.Listener listener) {
        return new ReadRequest(request.sources(), request.target(), now() + timeoutNanos, listener);
    }

    private PendingRead admit(ReadRequest request, PendingRead.Channels channels) {
        if (!reads.admit(request, started -> {})) {
            throw new AssertionError("there is no room in flight");
        }
        return reads.begin(request, channels);
    }

    /** Passes on a read that goes through a channel of the test's own to the first data thread. */
    ReadRequest submit(ReadRequest request, PeerReadChannel through, long timeoutNanos) {
        ReadRequest timed = timed(request, timeoutNanos, outcomes);
        thread().submit(admit(timed, new Through(through, thread())));
        return timed;
    }

    /** Has all reads go through one channel. */
    private record Through(PeerReadChannel channel, DataThread thread) implements PendingRead.Channels {
        @Override
        public void add(PendingRead read, int lane) {
            channel.add(read);
        }

        @Override
        public void submitAfter(PendingRead read, int failedLane) {
            thread.submit(read);
        }
    }

    /** Submits {@code count} reads of one piece each. */
    List<ReadRequest> submit(int count) throws InterruptedException {
        List<ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(submit(request(slice(i * 64, 100)), 0, TIMEOUT_NANOS));
        }
        return requests;
    }

    /** One turn of each data thread. */
    void turn() {
        threads.forEach(DataThread::turn);
    }

    /** Turns until there is nothing to do. */
    void settle() {
        for (int i = 0; i < 1000; i++) {
            boolean worked = false;
            for (DataThread thread : threads) {
                worked |= thread.isAlive() && thread.turn();
            }
            if (!worked) {
                return;
            }
        }
        throw new AssertionError("the data threads always find something to do");
    }

    /**
     * Lets the attempt that is under way succeed and the peer tell its regions; returns the number of the queue pair.
     */
    int connect() {
        settle();
        int pair = control.accept();
        settle();
        respond(pair);
        settle();
        return pair;
    }

    /** Answers the region query that is posted, as the peer would. */
    void respond(int pair) {
        respond(pair, rail.table());
    }

    void respond(int pair, RegionTable table) {
        List<FakeQueues.Send> posted = queues().posted(pair);
        FakeQueues.Send query = posted.get(posted.size() - 1);
        queues().succeed(pair, posted.size());
        deliver(pair, query, table);
    }

    /** Completes the oldest request, a message, and answers it unless that is lost. */
    void answer(int pair, FakeQueues.Send message, boolean lost) {
        byte[] bytes = queues().message(pair, message.id());
        queues().succeed(pair, 1);
        if (lost) {
            return;
        }
        byte[] answer = peer.take(pair, bytes);
        if (answer == null) {
            deliver(pair, message, rail.table());
        } else if (answer.length > 0 && !queues().deliver(pair, answer)) {
            throw new AssertionError("no receive for the answer");
        }
    }

    private void deliver(int pair, FakeQueues.Send query, RegionTable table) {
        int first = RegionTable.readQuery(query.local(), query.length());
        try (NativeBuffer response = new NativeBuffer(RegionTable.MAX_RESPONSE_BYTES)) {
            byte[] bytes = new byte[table.writeResponse(response.address(), first)];
            response.getBytes(0, bytes, 0, bytes.length);
            if (!queues().deliver(pair, bytes)) {
                throw new AssertionError("no receive for the response");
            }
        }
    }

    /** Returns what a request must have read. */
    byte[] expected(int offset, int length) {
        byte[] expected = new byte[length];
        for (int i = 0; i < length; i++) {
            expected[i] = sourceByte((long) offset + i);
        }
        return expected;
    }

    private static void end(DataThread thread) {
        thread.stop();
        thread.run();
    }

    @Override
    public void close() {
        ReadFailedException failure = new ReadFailedException(Reason.CLOSED, "the test is over");
        channels.forEach(channel -> channel.execute(() -> channel.close(failure)));
        threads.stream().filter(DataThread::isAlive).forEach(ReadRig::end);
        threads.forEach(DataThread::close);
        while (control.hasAttempt()) {
            control.refuse("the test is over");
        }
        peer.close();
        source.close();
        rail.close();
        events.close();
        pool.close();
        rdma.close();
    }
}
