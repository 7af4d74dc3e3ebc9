// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.FakeDevice;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.ProtectionDomain;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What becomes of outstanding operations, and of their memory, when a connection ends. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ConnectionStateTest {
    private int ended;
    private final FakeDevice device = new FakeDevice();
    private final Context context = device.open();
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionChannel channel = context.createCompletionChannel();
    private final CompletionQueue queue = context.createCompletionQueue(8, channel);
    private final QueuePair pair = domain.createQueuePair(new QueueSizes(4, 4, 1, 0), queue, queue, null);
    private final EventChannel events = EventChannel.open(device.library);
    private final LocalRegion region = LocalRegion.allocate(domain, 64, Set.of(Access.LOCAL_WRITE), closed -> {});
    private final ConnectionState state = new ConnectionState(
            1,
            events.createId(),
            pair,
            new Progress(channel, queue, 8, false),
            EndpointOptions.DEFAULT,
            1,
            false,
            () -> ended++);

    @AfterEach
    void closeAll() {
        // Takes domain, region, queues and the queue pair with it, as far as they are still open.
        context.close();
        events.close();
        device.close();
    }

    private Transfer work() {
        return new Transfer(Transfer.Kind.READ, List.of(region.slice(0, 8)), new RemoteRegion(0, 8, 0), 0);
    }

    private CompletableFuture<Void> read() {
        FutureOperation<Void> operation = FutureOperation.of(work());
        state.post(List.of(operation));
        return operation.future();
    }

    @Test
    void destroyingTheQueuePairFreesOutstandingMemory() {
        CompletableFuture<Void> read = read();
        assertThatThrownBy(region::close).hasMessageContaining("in use by 1 operations");
        state.abort(new IOException("lost"));
        assertThat(read).isCompletedExceptionally();
        assertThat(ended).isOne();
        region.close();
    }

    /** As of a device that was taken away. */
    @Test
    void operationsEndWithoutFlushedCompletions() {
        CompletableFuture<Void> read = read();
        state.fail(new IOException("lost"));
        long deadline = state.tick(0);
        assertThat(read).isNotDone();
        assertThat(state.tick(deadline)).isEqualTo(deadline);
        assertThat(read).isCompletedExceptionally();
        assertThat(ended).isOne();
        region.close();
    }

    /** Invariant I7: a queue pair that could not be destroyed may still write. */
    @Test
    void outstandingMemoryIsHeldWhileTheQueuePairLives() {
        CompletableFuture<Void> read = read();
        device.fail("ibv_destroy_qp", Errno.EBUSY);
        state.abort(new IOException("lost"));
        assertThat(read).isCompletedExceptionally();
        assertThat(state.ended()).isCompleted();
        assertThat(ended)
                .as("receives that the queue pair no longer uses are released")
                .isZero();
        assertThatThrownBy(region::close).hasMessageContaining("in use by 1 operations");
    }

    @Test
    void preparedOperationEndsOnceAndFreesItsMemory() {
        Ends ends = new Ends();
        PreparedOperation read = new PreparedOperation(state, work(), ends);
        read.post();
        assertThatThrownBy(region::close).hasMessageContaining("in use by 1 operations");
        state.abort(new IOException("lost"));
        state.abort(new IOException("lost again"));
        assertThat(ends.all()).singleElement().isInstanceOf(WorkFailedException.class);
        assertThat(read.isOutstanding()).isFalse();
        region.close();
    }

    @Test
    void preparedOperationHoldsMemoryOfALiveQueuePair() {
        Ends ends = new Ends();
        new PreparedOperation(state, work(), ends).post();
        device.fail("ibv_destroy_qp", Errno.EBUSY);
        state.abort(new IOException("lost"));
        assertThat(ends.all()).singleElement().isInstanceOf(WorkFailedException.class);
        assertThatThrownBy(region::close).hasMessageContaining("in use by 1 operations");
    }
}
