// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("unit")
@Timeout(60)
class ModelledFabricTest {
    private static final int POOL_BYTES = 8 << 20;
    private static final long IN_FLIGHT = 4 << 20;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private final List<AutoCloseable> opened = new ArrayList<>();
    private final Ended ended = new Ended();
    private Pool ownerPool;
    private Pool readerPool;
    private ModelledFabric reader;
    private Peer peer;

    /** Keeps what ended, and when. */
    private static final class Ended implements ReadRequest.Listener {
        private record End(ReadRequest request, @Nullable Reason reason, long nanos) {}

        private final BlockingQueue<End> ends = new LinkedBlockingQueue<>();

        @Override
        public void succeeded(ReadRequest request) {
            ends.add(new End(request, null, System.nanoTime()));
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            ends.add(new End(request, failure.reason(), System.nanoTime()));
        }

        End next() throws InterruptedException {
            End end = ends.poll(30, TimeUnit.SECONDS);
            assertThat(end).isNotNull();
            return end;
        }
    }

    @BeforeEach
    void open() throws Exception {
        // 1 MiB takes 84 ms.
        LinkModel slow = new LinkModel(0.1, 20_000);
        ModelledFabric owner = new ModelledFabric(slow, IN_FLIGHT, null);
        reader = new ModelledFabric(slow, IN_FLIGHT, null);
        PoolSettings settings = new PoolSettings(pools.path(), POOL_BYTES, POOL_BYTES, POOL_BYTES, false);
        ownerPool = Pool.create(settings, owner);
        readerPool = Pool.create(settings, reader);
        peer = reader.connect("owner", owner.localAddress());
        opened.addAll(List.of(peer, reader, owner, readerPool, ownerPool));
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private static Lease lease(Pool pool, int bytes) throws InterruptedException {
        Lease lease = pool.reserve(Purpose.RECEIVE, bytes, bytes, Duration.ZERO);
        assertThat(lease).isNotNull();
        return lease;
    }

    private ReadRequest request(long deadline, Lease source, int bytes) throws InterruptedException {
        RemoteSlice all = new RemoteSlice(source.region().id(), source.offset(), bytes);
        return new ReadRequest(List.of(all), lease(readerPool, bytes), deadline, ended);
    }

    private void read(long deadline, Lease source, int bytes, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            assertThat(peer.read(request(deadline, source, bytes))).isTrue();
        }
    }

    private static long soon() {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    }

    /** The model may be late, as a busy machine is, but never early. */
    @Test
    void bytesComeWhenALinkWouldHaveBroughtThem() throws Exception {
        byte[] bytes = new byte[1 << 20];
        new Random(7).nextBytes(bytes);
        try (Lease source = lease(ownerPool, bytes.length)) {
            source.memory().putBytes(0, bytes, 0, bytes.length);
            long before = System.nanoTime();
            read(soon(), source, bytes.length, 2);
            for (int i = 1; i <= 2; i++) {
                Ended.End end = ended.next();
                assertThat(end.reason()).isNull();
                assertThat(end.nanos() - before).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(20 + 83L * i));
                byte[] read = new byte[bytes.length];
                try (Lease target = end.request().target()) {
                    target.memory().getBytes(0, read, 0, read.length);
                }
                assertThat(read).isEqualTo(bytes);
            }
        }
        FabricWork work = reader.work();
        assertThat(work.reads()).isEqualTo(2);
        assertThat(work.doorbells()).isEqualTo(2);
        assertThat(work.completions()).isEqualTo(2);
        assertThat(work.wakeUps()).isPositive();
    }

    @Test
    void nothingIsShownInPlace() throws Exception {
        assertThat(peer.view(new RemoteSlice(0, 0, 8))).isNull();
        assertThat(peer.region(0)).isNull();
    }

    @Test
    void moreThanMayBeInFlightWaits() throws Exception {
        try (Lease source = lease(ownerPool, 1 << 20)) {
            read(soon(), source, 1 << 20, 4);
            assertThat(peer.read(request(soon(), source, 1 << 20))).isFalse();
            for (int i = 0; i < 5; i++) {
                ended.next().request().target().close();
            }
        }
    }

    @Test
    void failuresGiveTheirTargetsBack() throws Exception {
        try (Lease source = lease(ownerPool, 100)) {
            read(System.nanoTime(), source, 100, 1);
            assertThat(ended.next().reason()).isEqualTo(Reason.TIMED_OUT);
            RemoteSlice outside = new RemoteSlice(0, POOL_BYTES, 100);
            ReadRequest wrong = new ReadRequest(List.of(outside), lease(readerPool, 100), soon(), ended);
            assertThat(peer.read(wrong)).isTrue();
            assertThat(ended.next().reason()).isEqualTo(Reason.OUT_OF_BOUNDS);
            read(soon(), source, 100, 5);
            reader.close();
            for (int i = 0; i < 5; i++) {
                assertThat(ended.next().reason()).isEqualTo(Reason.CLOSED);
            }
            read(soon(), source, 100, 1);
            assertThat(ended.next().reason()).isEqualTo(Reason.CLOSED);
        }
        assertThat(readerPool.usage().leases()).isZero();
    }
}
