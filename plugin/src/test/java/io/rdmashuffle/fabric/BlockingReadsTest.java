// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Waiting, timeouts and interrupts, with a peer that answers when the test says so. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class BlockingReadsTest {
    private static final List<RemoteSlice> SLICE = List.of(new RemoteSlice(0, 0, 100));

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final ManualPeer peer = new ManualPeer();
    private Pool pool;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
    }

    @AfterEach
    void close() {
        assertThat(pool.usage().leases()).isZero();
        pool.close();
    }

    private BlockingReads reads(Duration timeout) {
        return new BlockingReads(new ReceiveLeases(pool, Duration.ofMillis(10)), timeout);
    }

    @Test
    void sourcesWhoseSumOverflowsDoNotFitALease() throws Exception {
        RemoteSlice huge = new RemoteSlice(0, 0, Long.MAX_VALUE);
        RemoteSlice rest = new RemoteSlice(0, 0, 2 + 64);
        Completions nobody = new Completions();
        try (Lease lease = TestPools.reserve(pool, Purpose.RECEIVE, 64)) {
            assertThatThrownBy(() -> new ReadRequest(List.of(huge, huge, rest), lease, 0, nobody))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> new ReadRequest(List.of(rest), lease, 0, nobody))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("into a lease of 64 bytes");
        }
    }

    private static void assertTimesOut(BlockingReads reads, Peer peer) {
        assertThatThrownBy(() -> reads.read(peer, SLICE))
                .isInstanceOfSatisfying(
                        ReadFailedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TIMED_OUT));
    }

    @Test
    void anAnswerThatComesTooLateGivesItsLeaseBack() {
        assertTimesOut(reads(Duration.ofMillis(20)), peer);
        assertThat(pool.usage().leases()).as("the fabric still may write").isOne();
        peer.succeedAll();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void aFailureThatComesTooLateIsTheFabricsOwn() {
        assertTimesOut(reads(Duration.ofMillis(20)), peer);
        peer.failAll();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void aFullPoolIsNoRoomAndNotWaitedForUntilTheDeadline() throws Exception {
        List<Lease> all = TestPools.fill(pool);
        assertThatThrownBy(() -> reads(Duration.ofDays(1)).read(peer, SLICE))
                .isInstanceOfSatisfying(
                        ReadFailedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.NO_ROOM));
        all.forEach(Lease::close);
    }

    @Test
    void aFabricThatThrowsGetsNoLease() {
        peer.broken = true;
        assertThatThrownBy(() -> reads(Duration.ofSeconds(1)).read(peer, SLICE))
                .isInstanceOf(IllegalStateException.class);
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void anInterruptEndsTheWaitAndKeepsTheFlag() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> reads(Duration.ofSeconds(30)).read(peer, SLICE))
                .isInstanceOf(InterruptedIOException.class);
        assertThat(Thread.interrupted()).isTrue();
        peer.succeedAll();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void anInterruptDuringTheWaitLeavesTheLeaseToTheFabric() throws Exception {
        List<Throwable> thrown = new ArrayList<>();
        Thread waiting = new Thread(() -> {
            try {
                reads(Duration.ofSeconds(30)).read(peer, SLICE).close();
            } catch (Exception e) {
                thrown.add(e);
            }
        });
        waiting.start();
        while (peer.requests().isEmpty()) {
            Thread.onSpinWait();
        }
        waiting.interrupt();
        waiting.join();
        assertThat(thrown).singleElement().isInstanceOf(InterruptedIOException.class);
        assertThat(pool.usage().leases()).isOne();
        peer.succeedAll();
    }

    /** Takes requests and answers them when told. */
    private static final class ManualPeer implements Peer {
        private final List<ReadRequest> requests = new ArrayList<>();
        private volatile boolean broken;

        @Override
        public synchronized boolean read(ReadRequest request) {
            if (broken) {
                throw new IllegalStateException("broken fabric");
            }
            return requests.add(request);
        }

        synchronized List<ReadRequest> requests() {
            return List.copyOf(requests);
        }

        void succeedAll() {
            requests().forEach(request -> request.listener().succeeded(request));
        }

        void failAll() {
            requests().forEach(request -> {
                request.target().close();
                request.listener().failed(request, new ReadFailedException(Reason.PEER_GONE, "late"));
            });
        }

        @Override
        public @Nullable RemoteView view(RemoteSlice slice) {
            return null;
        }

        @Override
        public @Nullable RemoteView region(int regionId) {
            return null;
        }

        @Override
        public boolean readsDisk() {
            return false;
        }

        @Override
        public void releaseRegions() {}

        @Override
        public void releaseAbsentRegions() {}

        @Override
        public int openRegions() {
            return 0;
        }

        @Override
        public void close() {}
    }
}
