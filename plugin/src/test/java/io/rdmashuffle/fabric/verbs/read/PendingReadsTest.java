// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Completions;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the ends of reads: each is reported once, whatever its listener or caller does. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class PendingReadsTest {
    private final ReadFailedException failure = new ReadFailedException(Reason.PEER_GONE, "gone");

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final PendingReads reads = new PendingReads(1 << 20);
    private Pool pool;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
    }

    @AfterEach
    void close() {
        pool.close();
    }

    private PendingRead pending(Lease target, ReadRequest.Listener listener) {
        ReadRequest request = new ReadRequest(List.of(new RemoteSlice(0, 0, 64)), target, Long.MAX_VALUE, listener);
        assertThat(reads.admit(request, started -> {})).isTrue();
        return reads.begin(request, new NoChannels());
    }

    private Lease target() throws InterruptedException {
        return TestPools.reserve(pool, Purpose.RECEIVE, 64);
    }

    @Test
    void readsWithOneTargetAreAllToldOfTheirFailure() throws Exception {
        Lease shared = target();
        List<ReadRequest> failed = new ArrayList<>();
        ReadRequest.Listener listener = new ReadRequest.Listener() {
            @Override
            public void succeeded(ReadRequest request) {
                throw new AssertionError("succeeded");
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException why) {
                failed.add(request);
            }
        };
        PendingRead first = pending(shared, listener);
        PendingRead second = pending(shared, listener);
        reads.fail(first, failure);
        reads.fail(second, failure);
        assertThat(failed).as("also the one whose target had been released").hasSize(2);
    }

    @Test
    void secondEndOfAReadIsIgnored() throws Exception {
        Completions completions = new Completions();
        Lease target = target();
        PendingRead read = pending(target, completions);
        ReadRequest request = read.request();
        assertThat(request.complete()).isTrue();
        reads.succeed(read);
        assertThat(completions.succeededOne(request)).isFalse();
        target.close();
    }

    @Test
    void listenerThatThrowsDoesNotHoldUpTheOthers() throws Exception {
        ReadRequest.Listener listener = new ReadRequest.Listener() {
            @Override
            public void succeeded(ReadRequest request) {
                throw new IllegalStateException("injected");
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException why) {
                throw new AssertionError("injected");
            }
        };
        reads.fail(pending(target(), listener), failure);
        Lease target = target();
        reads.succeed(pending(target, listener));
        target.close();
        Lease abandoned = target();
        reads.abandon(pending(abandoned, listener), failure);
        abandoned.close();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void readOfWhichPiecesAreOutstandingKeepsItsTarget() throws Exception {
        Lease target = target();
        PendingRead read = pending(target, new Completions());
        read.advancePast(64);
        reads.fail(read, failure);
        assertThat(pool.usage().leases()).isOne();
        target.close();
    }
}
