// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.WorkFailedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations that are posted again and again, sleeping and spinning; contents compared. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PreparedOperationDeviceTest {
    private static final int DEPTH = 16;
    private static final int PIECE = 1000;
    private static final int PIECES = 150;
    /** The last piece is shorter. */
    private static final int LENGTH = PIECE * PIECES - 300;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private ConnectedEndpoints endpoints;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private LocalRegion here;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private LocalRegion there;

    private final Ends ends = new Ends();
    private final byte[] content = content();

    private static byte[] content() {
        long seed = System.nanoTime();
        System.out.println("PreparedOperationDeviceTest seed " + seed);
        byte[] content = new byte[LENGTH];
        new Random(seed).nextBytes(content);
        return content;
    }

    private ConnectedEndpoints.Pair connect(boolean busyPoll) throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT.withBusyPoll(busyPoll));
        here = endpoints.client.allocate(LENGTH);
        there = endpoints.server.allocate(LENGTH);
        return endpoints.connect();
    }

    @AfterEach
    void close() {
        if (endpoints != null) { // null if the test was skipped
            endpoints.close();
        }
    }

    /** Goes over a whole region, piece by piece, with as many operations as are outstanding. */
    private static final class Stream implements PreparedOperation.Handler {
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicInteger left = new AtomicInteger(PIECES);
        private final CompletableFuture<Void> done = new CompletableFuture<>();

        /** Posts an operation for the next piece, if there is one. */
        void go(PreparedOperation operation) {
            long offset = (long) PIECE * next.getAndIncrement();
            if (offset < LENGTH) {
                operation
                        .at(offset, offset, (int) Math.min(PIECE, LENGTH - offset))
                        .post();
            }
        }

        @Override
        public void succeeded(PreparedOperation operation) {
            go(operation);
            if (left.decrementAndGet() == 0) {
                done.complete(null);
            }
        }

        @Override
        public void failed(PreparedOperation operation, Throwable reason) {
            done.completeExceptionally(reason);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFewReadsStreamThroughARegion(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        there.put(0, content);
        Stream stream = new Stream();
        for (int i = 0; i < DEPTH; i++) {
            stream.go(connection.prepareRead(here.slice(0, PIECE), there.describe(), stream));
        }
        ConnectedEndpoints.get(stream.done);
        assertThat(here.get(0, LENGTH)).isEqualTo(content);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFewWritesStreamThroughARegion(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        here.put(0, content);
        Stream stream = new Stream();
        for (int i = 0; i < DEPTH; i++) {
            stream.go(connection.prepareWrite(here.slice(0, PIECE), there.describe(), stream));
        }
        ConnectedEndpoints.get(stream.done);
        ConnectedEndpoints.awaitArrival(connection, here, there.describe());
        assertThat(there.get(0, LENGTH)).isEqualTo(content);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void messagesOfAllLengthsArrive(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        here.put(0, content);
        PreparedOperation send = pair.client().prepareSend(here.slice(0, PIECE), ends);
        Ends arrivals = new Ends();
        PreparedOperation receive = pair.server().prepareReceive(there.slice(0, PIECE), arrivals);
        for (int length : new int[] {PIECE, 1, 0, 17}) {
            receive.at(2 * PIECE, 0).post();
            send.at(length, 0, length).post();
            arrivals.awaitSuccess();
            ends.awaitSuccess();
            assertThat(receive.receivedBytes()).isEqualTo(length);
            assertThat(receive.hasImmediate()).isFalse();
            assertThat(there.get(2 * PIECE, length)).isEqualTo(Arrays.copyOfRange(content, length, 2 * length));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void immediateDataIsTold(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        endpoints.device.assume(!endpoints.device.isOf("siw"), "immediate data");
        here.put(0, content);
        Ends arrivals = new Ends();
        PreparedOperation receive = pair.server().prepareReceive(there.slice(0, 0), arrivals);
        PreparedOperation write =
                pair.client().prepareWriteWithImmediate(here.slice(0, 10), there.describe(), -2, ends);
        for (int i = 0; i < 5; i++) {
            receive.post();
            write.at(0, 10L * i).post();
            arrivals.awaitSuccess();
            ends.awaitSuccess();
            assertThat(receive.hasImmediate()).isTrue();
            assertThat(receive.immediate()).isEqualTo(-2);
            assertThat(receive.receivedBytes()).isEqualTo(10);
            assertThat(there.get(10L * i, 10)).isEqualTo(Arrays.copyOf(content, 10));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void countsAndSwaps(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        endpoints.device.assume(endpoints.device.limits().atomics(), "atomics");
        RemoteRegion counters = there.describe().slice(0, 16);
        PreparedOperation add = connection.prepareFetchAndAdd(counters, 2, ends);
        for (int i = 0; i < 50; i++) {
            add.at(0, 8L * (i % 2)).post();
            ends.awaitSuccess();
            assertThat(add.valueBefore()).isEqualTo(2L * (i / 2));
        }
        PreparedOperation swap = connection.prepareCompareAndSwap(counters, 50, -1, ends);
        swap.post();
        ends.awaitSuccess();
        assertThat(swap.valueBefore()).isEqualTo(50);
        swap.expect(-1, 7).post();
        ends.awaitSuccess();
        assertThat(swap.valueBefore()).isEqualTo(-1);
        assertThat(there.getLong(0)).isEqualTo(7);
        assertThat(there.getLong(8)).isEqualTo(50);
    }

    @Test
    void outstandingOperationIsNotPostedTwice() throws Exception {
        ConnectedEndpoints.Pair pair = connect(false);
        PreparedOperation receive = pair.client().prepareReceive(here.slice(0, 10), ends);
        receive.post();
        assertThatThrownBy(receive::post)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("RECEIVE into 10 bytes at offset 0 is outstanding");
        assertThatThrownBy(here::close).hasMessageContaining("in use by 1 operations");
        ConnectedEndpoints.get(pair.server().send(new byte[3]));
        ends.awaitSuccess();
        here.close();
        assertThatThrownBy(receive::post).hasMessageContaining("is closed");
    }

    @Test
    void remoteErrorFailsItAndEndsTheConnection() throws Exception {
        RdmaConnection connection = connect(false).client();
        RemoteRegion right = there.describe();
        RemoteRegion wrong = new RemoteRegion(right.address(), LENGTH, right.remoteKey() ^ 0x5500);
        connection.prepareRead(here.slice(0, 10), wrong, ends).at(20, 30).post();
        assertThat(ends.awaitFailure())
                .isInstanceOfSatisfying(
                        WorkFailedException.class,
                        failure -> assertThat(failure.status()).isEqualTo(endpoints.refused()))
                .hasMessageContaining(
                        "READ of 10 bytes at offset 20 from 10 bytes at 0x" + Long.toHexString(right.address() + 30));
        ConnectedEndpoints.get(connection.ended());
        PreparedOperation again = connection.prepareRead(here.slice(0, 10), right, ends);
        again.post();
        assertThat(ends.awaitFailure()).hasMessageContaining("has ended");
        here.close();
    }

    @Test
    void aDeadlineGivesTheMemoryBack() throws Exception {
        RdmaConnection connection = connect(false).client();
        endpoints.device.assumeInfiniBand("SENDs that wait for a receive");
        PreparedOperation send = connection.prepareSend(here.slice(0, 10), ends);
        connection.operationTimeout(Duration.ofMillis(700));
        send.post();
        assertThat(ends.awaitFailure())
                .isInstanceOfSatisfying(
                        WorkFailedException.class,
                        failure -> assertThat(failure.status()).isEqualTo(CompletionStatus.RESPONSE_TIMEOUT));
        here.close();
        assertThat(ConnectedEndpoints.get(connection.ended())).hasMessageContaining("RESPONSE_TIMEOUT");
    }

    /** Handlers post again on both progress threads while either side closes. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachPostEndsOnceWhenAConnectionIsClosedUnderWay(boolean byPeer) throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT);
        here = endpoints.client.allocate(LENGTH);
        there = endpoints.server.allocate(LENGTH);
        for (int round = 0; round < 3; round++) {
            ConnectedEndpoints.Pair pair = endpoints.connect();
            AtomicInteger posts = new AtomicInteger();
            Ends counted = new Ends(operation -> {
                posts.incrementAndGet();
                operation.post();
            });
            List<PreparedOperation> operations = new ArrayList<>();
            for (int i = 0; i < DEPTH; i++) {
                operations.add(pair.client().prepareRead(here.slice(0, PIECE), there.describe(), counted));
                operations.add(pair.client().prepareReceive(here.slice(0, PIECE), counted));
            }
            for (PreparedOperation operation : operations) {
                posts.incrementAndGet();
                operation.post();
            }
            for (int i = 0; i < 100; i++) {
                counted.awaitSuccess();
            }
            (byPeer ? pair.server() : pair.client()).close();
            ConnectedEndpoints.get(pair.client().ended());
            int failures = 0;
            for (int i = 100; i < posts.get(); i++) {
                failures += counted.next() instanceof Throwable ? 1 : 0;
            }
            assertThat(failures).as("one of each operation").isEqualTo(operations.size());
            assertThat(counted.count()).isEqualTo(posts.get());
            assertThat(operations).noneMatch(PreparedOperation::isOutstanding);
        }
        here.close();
    }
}
