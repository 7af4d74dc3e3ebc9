// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of prepared operations: memory, bounds, and one completion per post. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PreparedOperationTest {
    private static final int SLOTS = 4;
    private static final RemoteRegion REMOTE = new RemoteRegion(1 << 20, 64, 7);

    private final ScriptedDevice device = new ScriptedDevice();
    private final Ends ends = new Ends();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaConnection connection;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion region;

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(EndpointOptions.DEFAULT.withMaxInFlight(SLOTS));
        connection = device.accepted(endpoint);
        region = endpoint.allocate(64);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    private void succeed(ScriptedDevice.Posted request) {
        device.complete(request, VerbsConstants.IBV_WC_SUCCESS);
    }

    private ScriptedDevice.Piece piece(long offset, int length) {
        return new ScriptedDevice.Piece(region.address(offset), length, region.localKey());
    }

    private void assertInUse() {
        assertThatThrownBy(region::close).hasMessageContaining("in use by ");
    }

    @Test
    void aHandlerPostsAgainAndMovesOn() throws Exception {
        Ends moving = new Ends(read -> {
            assertThat(read.isOutstanding()).isFalse();
            read.at(16, 24).post();
        });
        PreparedOperation read = connection.prepareRead(region.slice(8, 8), REMOTE, moving);
        assertThat(device.posted).isEmpty();
        read.post();
        ScriptedDevice.Posted first = ScriptedDevice.next(device.posted);
        assertThat(first.opcode()).isEqualTo(VerbsConstants.IBV_WR_RDMA_READ);
        assertThat(first.pieces()).containsExactly(piece(8, 8));
        assertThat(first.remote()).isEqualTo(REMOTE.address());
        assertInUse();
        succeed(first);
        assertThat(moving.next()).asString().startsWith("rdma-progress-");
        for (int i = 0; i < 20; i++) {
            ScriptedDevice.Posted again = ScriptedDevice.next(device.posted);
            assertThat(again.pieces()).containsExactly(piece(16, 8));
            assertThat(again.remote()).isEqualTo(REMOTE.address() + 24);
            assertInUse();
            succeed(again);
            moving.awaitSuccess();
        }
    }

    @Test
    void memoryIsInUseWhileItIsOutstandingOnly() throws Exception {
        PreparedOperation write = connection.prepareWrite(region.slice(0, 8), REMOTE, ends);
        write.post();
        assertThat(write.isOutstanding()).isTrue();
        assertInUse();
        succeed(ScriptedDevice.next(device.posted));
        ends.awaitSuccess();
        region.close();
        assertThatThrownBy(write::post)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("region of 64 bytes is closed");
        assertThat(write.isOutstanding()).isFalse();
        assertThat(ends.all()).isEmpty();
        assertThat(device.posted).isEmpty();
    }

    @Test
    void anOutstandingOperationIsLeftAlone() throws Exception {
        PreparedOperation swap = connection.prepareCompareAndSwap(REMOTE, 1, 2, ends);
        swap.post();
        for (Runnable change : List.<Runnable>of(swap::post, () -> swap.at(0, 8), () -> swap.expect(3, 4))) {
            assertThatThrownBy(change::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("COMPARE_AND_SWAP at 8 bytes at 0x100000 rkey 0x7 is outstanding");
        }
        succeed(ScriptedDevice.next(device.posted));
        ends.awaitSuccess();
        swap.at(0, 8).expect(3, 4).post();
        assertThat(device.posted)
                .singleElement()
                .satisfies(posted -> assertThat(posted.chained()).isOne());
    }

    @Test
    void eachMoveIsChecked() throws Exception {
        PreparedOperation write = connection.prepareWrite(region.slice(0, 16), REMOTE.slice(0, 32), ends);
        write.at(48, 16);
        for (long[] outside : new long[][] {{49, 0}, {-1, 0}, {0, 17}, {0, -1}, {Long.MAX_VALUE, 0}}) {
            assertThatThrownBy(() -> write.at(outside[0], outside[1])).isInstanceOf(IndexOutOfBoundsException.class);
        }
        assertThatThrownBy(() -> write.at(0, 0, 33)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> write.at(0, 0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(write).hasToString("WRITE of 16 bytes at offset 48 to 16 bytes at 0x100010 rkey 0x7");
        write.post();
        ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
        assertThat(posted.pieces()).containsExactly(piece(48, 16));
        succeed(posted);
        ends.awaitSuccess();
        write.at(60, 28, 4).post();
        assertThat(ScriptedDevice.next(device.posted).pieces()).containsExactly(piece(60, 4));

        PreparedOperation send = connection.prepareSend(region.slice(0, 8), ends);
        assertThatThrownBy(() -> send.at(0, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> send.at(57, 0)).isInstanceOf(IndexOutOfBoundsException.class);
        PreparedOperation receive = connection.prepareReceive(region.slice(0, 8), ends);
        assertThatThrownBy(() -> receive.at(0, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> receive.at(0, 0, 65)).isInstanceOf(IndexOutOfBoundsException.class);
        PreparedOperation add = connection.prepareFetchAndAdd(REMOTE, 1, ends);
        assertThatThrownBy(() -> add.at(0, 4)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> add.at(0, 0, 4)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> add.at(0, 64)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> add.at(8, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void argumentsAreCheckedOnce() throws Exception {
        LocalRegion readOnly = endpoint.allocate(8, Set.of(Access.REMOTE_READ));
        assertThatThrownBy(() -> connection.prepareRead(readOnly.slice(0, 8), REMOTE, ends))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("READ of 8 bytes at offset 0 from 8 bytes at 0x100000")
                .hasMessageContaining("LOCAL_WRITE");
        assertThatThrownBy(() -> connection.prepareWrite(region.slice(0, 9), REMOTE.slice(0, 8), ends))
                .hasMessageContaining("at least as long");
        assertThatThrownBy(() -> connection.prepareFetchAndAdd(REMOTE.slice(4, 8), 1, ends))
                .hasMessageContaining("aligned to 8");
        assertThatThrownBy(() -> connection.prepareFetchAndAdd(REMOTE.slice(0, 4), 1, ends))
                .hasMessageContaining("must be 8 bytes");
        PreparedOperation write = connection.prepareWrite(region.slice(0, 8), REMOTE, ends);
        assertThatThrownBy(() -> write.expect(1, 2)).hasMessageContaining("compares nothing");
        assertThatThrownBy(write::valueBefore).hasMessageContaining("brings no value");
        assertThatThrownBy(write::receivedBytes).hasMessageContaining("receives no message");
    }

    @Test
    void withoutAFreeSlotNothingHappens() throws Exception {
        PreparedOperation one = connection.prepareWrite(region.slice(0, 8), REMOTE, ends);
        for (int i = 0; i < SLOTS; i++) {
            connection.prepareSend(region.slice(0, 8), ends).post();
        }
        assertThatThrownBy(one::post)
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("4 operations outstanding");
        assertThat(one.isOutstanding()).isFalse();
        for (int i = 0; i < SLOTS; i++) {
            succeed(ScriptedDevice.next(device.posted));
            ends.awaitSuccess();
        }
        region.close();
    }

    @Test
    void aMalformedRequestThrowsAndMayBePostedAgain() throws Exception {
        device.fake.answer("ibv_post_send", arguments -> {
            RawMemory.putLong((Long) arguments[2], (Long) arguments[1]);
            return Errno.EINVAL.number();
        });
        PreparedOperation write = connection.prepareWrite(region.slice(0, 8), REMOTE, ends);
        for (int i = 0; i < 2 * SLOTS; i++) {
            assertThatThrownBy(write::post).isInstanceOf(NativeException.class).hasMessageContaining("EINVAL");
        }
        device.fake.answer("ibv_post_send", arguments -> {
            RawMemory.putLong((Long) arguments[2], (Long) arguments[1]);
            return Errno.ENOMEM.number();
        });
        assertThatThrownBy(write::post)
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("send queue of");
        assertThat(ends.all()).isEmpty();
        region.close();
    }

    @Test
    void aReceiveTellsOfEachMessage() throws Exception {
        PreparedOperation receive = connection.prepareReceive(region.slice(0, 8), ends);
        for (int length = 1; length < 5; length++) {
            receive.at(8L * length, 0).post();
            ScriptedDevice.Receive posted = ScriptedDevice.next(device.receives);
            assertThat(posted.address()).isEqualTo(region.address(8L * length));
            device.deliver(posted, new byte[length]);
            ends.awaitSuccess();
            assertThat(receive.receivedBytes()).isEqualTo(length);
            assertThat(receive.hasImmediate()).isFalse();
            assertThat(receive.immediate()).isZero();
        }
        assertThatThrownBy(receive::valueBefore).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void aConnectionWithSharedReceivesHasNoneToPrepare() throws Exception {
        SharedReceives shared = endpoint.shareReceives(2, 16, (from, bytes, message) -> {});
        CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
        RdmaListener listener = endpoint.listen(0, asked -> ConnectAnswer.accept(), shared, accepted::complete);
        device.request(listener.address().getPort(), 1, 1, new byte[0]);
        RdmaConnection sharing = ConnectedEndpoints.get(accepted);
        assertThatThrownBy(() -> sharing.prepareReceive(region.slice(0, 8), ends))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("takes from shared receives");
    }

    @Test
    void anAtomicTellsTheValueBefore() throws Exception {
        PreparedOperation add = connection.prepareFetchAndAdd(REMOTE, 5, ends);
        for (long before : new long[] {3, 9}) {
            add.at(0, 8 * before % 64).post();
            ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
            RawMemory.putLong(posted.pieces().get(0).address(), before);
            succeed(posted);
            ends.awaitSuccess();
            assertThat(add.valueBefore()).isEqualTo(before);
        }
    }

    @Test
    void compareValueMayChangeBetweenPosts() throws Exception {
        List<Long> operands = new ArrayList<>();
        device.beforeSend = () -> {};
        device.fake.answer("ibv_post_send", arguments -> {
            operands.add(RawMemory.getLong((Long) arguments[1] + ibv_send_wr.wr__atomic__compare_add));
            operands.add(RawMemory.getLong((Long) arguments[1] + ibv_send_wr.wr__atomic__swap));
            return 0;
        });
        connection.prepareCompareAndSwap(REMOTE, 1, 2, ends).post();
        connection.prepareCompareAndSwap(REMOTE, 1, 2, ends).expect(3, 4).post();
        assertThat(operands).containsExactly(1L, 2L, 3L, 4L);
        assertThatThrownBy(() -> connection.prepareFetchAndAdd(REMOTE, 1, ends).expect(1, 2))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    /** The timeout is that of the moment of posting. */
    @Test
    void aDeadlineThatPassesEndsTheConnection() throws Exception {
        PreparedOperation send = connection.prepareSend(region.slice(0, 8), ends);
        connection.operationTimeout(Duration.ofMillis(50));
        send.post();
        assertThat(ends.awaitFailure())
                .isInstanceOfSatisfying(
                        WorkFailedException.class,
                        failure -> assertThat(failure.status()).isEqualTo(CompletionStatus.RESPONSE_TIMEOUT))
                .hasMessageContaining("SEND of 8 bytes at offset 0, peer ");
        assertThat(ConnectedEndpoints.get(connection.ended())).hasMessageContaining("RESPONSE_TIMEOUT");
        region.close();
    }

    @Test
    void afterTheEndEachPostIsToldSoOnce() throws Exception {
        connection.close();
        PreparedOperation send = connection.prepareSend(region.slice(0, 8), ends);
        PreparedOperation receive = connection.prepareReceive(region.slice(0, 8), ends);
        for (PreparedOperation operation : List.of(send, receive)) {
            for (int i = 0; i < 3; i++) {
                operation.post();
                assertThat(ends.awaitFailure())
                        .isExactlyInstanceOf(IOException.class)
                        .hasMessageContaining("connection to ")
                        .hasMessageContaining("has ended")
                        .cause()
                        .hasMessageContaining("was closed locally");
            }
        }
        assertThat(ends.all()).isEmpty();
        region.close();
        endpoint.close();
        // There is no progress thread any more.
        PreparedOperation add = connection.prepareFetchAndAdd(REMOTE, 1, ends);
        add.post();
        assertThat(ends.awaitFailure()).hasMessageContaining("has ended");
    }

    @Test
    void aHandlerThatThrowsEndsItsConnectionAlone() throws Exception {
        RdmaConnection other = device.accepted(endpoint);
        PreparedOperation throwing = connection.prepareSend(region.slice(0, 8), new Ends(operation -> {
            throw new AssertionError("thrown by a test");
        }));
        throwing.post();
        succeed(ScriptedDevice.next(device.posted));
        assertThat(ConnectedEndpoints.get(connection.ended()))
                .hasMessageContaining("the handler of SEND of 8 bytes at offset 0 threw")
                .hasRootCauseMessage("thrown by a test");
        PreparedOperation send = other.prepareSend(region.slice(0, 8), ends);
        send.post();
        succeed(ScriptedDevice.next(device.posted));
        ends.awaitSuccess();
        region.close();
    }

    @Test
    void handlerExceptionIsSuppressedInTheFailure() throws Exception {
        PreparedOperation send = connection.prepareSend(region.slice(0, 8), new Ends(operation -> {}, operation -> {
            throw new IllegalStateException("thrown by a test");
        }));
        send.post();
        device.complete(ScriptedDevice.next(device.posted), VerbsConstants.IBV_WC_REM_ACCESS_ERR);
        Throwable reason = ConnectedEndpoints.get(connection.ended());
        assertThat(reason).hasMessageContaining("REMOTE_ACCESS_ERROR");
        assertThat(reason.getSuppressed())
                .singleElement()
                .satisfies(suppressed -> assertThat(suppressed).hasRootCauseMessage("thrown by a test"));
    }

    /** A device that is as fast as the thread that posts leaves it nothing but completions. */
    @Test
    void repostingHandlersDoNotStarveTheThread() throws Exception {
        device.fake.answer("ibv_post_send", arguments -> {
            long id = RawMemory.getLong((Long) arguments[1] + ibv_send_wr.wr_id);
            device.complete((Long) arguments[0], id, VerbsConstants.IBV_WC_SUCCESS, VerbsConstants.IBV_WC_RDMA_READ, 0);
            return 0;
        });
        AtomicInteger failures = new AtomicInteger();
        PreparedOperation again = connection.prepareRead(region.slice(0, 8), REMOTE, new PreparedOperation.Handler() {
            @Override
            public void succeeded(PreparedOperation operation) {
                operation.post();
            }

            @Override
            public void failed(PreparedOperation operation, Throwable reason) {
                failures.incrementAndGet();
            }
        });
        again.post();
        RdmaConnection other = device.accepted(endpoint);
        other.close();
        connection.close();
        assertThat(failures).hasValue(1);
        region.close();
    }

    /** A handler posts again on the progress thread while another thread closes the connection. */
    @Test
    void closingWhileHandlersPostAgainEndsEachPostOnce() throws Exception {
        for (int round = 0; round < 10; round++) {
            RdmaConnection closing = device.accepted(endpoint);
            AtomicInteger posts = new AtomicInteger();
            AtomicInteger refused = new AtomicInteger();
            Ends counted = new Ends(
                    operation -> {
                        posts.incrementAndGet();
                        operation.post();
                    },
                    operation -> {
                        // Once more, which calls the handler once more, and not endlessly.
                        if (refused.getAndIncrement() < SLOTS) {
                            posts.incrementAndGet();
                            operation.post();
                        }
                    });
            for (int i = 0; i < SLOTS; i++) {
                posts.incrementAndGet();
                closing.prepareSend(region.slice(8L * i, 8), counted).post();
            }
            CompletableFuture<Void> closed = CompletableFuture.runAsync(closing::close);
            boolean open = true;
            ScriptedDevice.Posted posted = device.posted.poll(1, TimeUnit.SECONDS);
            while (posted != null || !closing.ended().isDone()) {
                open &= !closed.isDone() && !failing(posted);
                if (posted != null) {
                    device.complete(posted, open ? VerbsConstants.IBV_WC_SUCCESS : VerbsConstants.IBV_WC_WR_FLUSH_ERR);
                }
                posted = device.posted.poll(10, TimeUnit.MILLISECONDS);
            }
            ConnectedEndpoints.get(closed);
            for (int i = 0; i < posts.get(); i++) {
                counted.next();
            }
            assertThat(counted.all()).isEmpty();
            assertThat(counted.count()).isEqualTo(posts.get()).isGreaterThanOrEqualTo(2 * SLOTS);
        }
        region.close();
    }

    /** Returns whether a queue pair is in error, and the device completes nothing but flushes. */
    private boolean failing(ScriptedDevice.Posted posted) {
        return posted != null
                && device.transitions.stream()
                        .anyMatch(each -> each.pair() == posted.pair() && each.state() == VerbsConstants.IBV_QPS_ERR);
    }
}
