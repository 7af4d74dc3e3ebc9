// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** How operations fail, and what that does to their neighbours. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class RdmaConnectionFailureTest {
    private static final int LENGTH = 4096;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ConnectedEndpoints endpoints;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ConnectedEndpoints.Pair pair;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion here;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion there;

    @BeforeEach
    void connect() throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT.withMaxInFlight(16));
        here = endpoints.client.allocate(LENGTH);
        there = endpoints.server.allocate(LENGTH);
        pair = endpoints.connect();
    }

    @AfterEach
    void close() {
        if (endpoints != null) { // null if the test was skipped
            endpoints.close();
        }
    }

    private static WorkFailedException failure(CompletableFuture<?> future) throws Exception {
        try {
            ConnectedEndpoints.get(future);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof WorkFailedException failure) {
                return failure;
            }
            throw new AssertionError("another failure", e);
        }
        throw new AssertionError("succeeded");
    }

    private static void assertEnded(CompletableFuture<?> future) {
        assertThatThrownBy(() -> ConnectedEndpoints.get(future))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
    }

    @Test
    void wrongKeyIsExplainedAndEndsThisConnectionOnly() throws Exception {
        ConnectedEndpoints.Pair second = endpoints.connect();
        ConnectedEndpoints.Pair third = endpoints.connect();
        RemoteRegion right = there.describe();
        RemoteRegion wrong = new RemoteRegion(right.address(), LENGTH, right.remoteKey() ^ 0x5500);

        CompletableFuture<Void> fails = pair.client().read(here.slice(0, LENGTH), wrong);
        List<CompletableFuture<Void>> succeed = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            succeed.add(second.client().read(here.slice(0, 100), right.slice(0, 100)));
            succeed.add(third.client().write(here.slice(0, 100), right.slice(100, 100)));
        }
        WorkFailedException failure = failure(fails);
        assertThat(failure.status()).isEqualTo(endpoints.refused());
        assertThat(failure)
                .hasMessageContaining("READ of 4096 bytes at offset 0 from 4096 bytes at 0x")
                .hasMessageContaining("peer /")
                .hasMessageContaining("vendor error")
                .hasMessageContaining(
                        endpoints.iwarp ? "its device refused a request" : "not registered under that rkey");
        for (CompletableFuture<Void> other : succeed) {
            ConnectedEndpoints.get(other);
        }
        ConnectedEndpoints.get(pair.client().ended());
        assertThat(ConnectedEndpoints.get(pair.server().ended())).isNotNull();
        assertEnded(pair.client().read(here.slice(0, 1), right.slice(0, 1)));
        ConnectedEndpoints.get(second.client().read(here.slice(0, 100), right.slice(0, 100)));
    }

    @Test
    void closedRegionIsRefusedToPeers() throws Exception {
        RemoteRegion gone = there.describe();
        there.close();
        assertThat(failure(pair.client().read(here.slice(0, LENGTH), gone)).status())
                .isEqualTo(endpoints.refused());
    }

    @Test
    void laterRequestsAreFlushedWithTheCause() throws Exception {
        CompletableFuture<ReceivedMessage> receive = pair.client().receive(here.slice(0, 10));
        RemoteRegion wrong = new RemoteRegion(there.describe().address(), LENGTH, 1);
        WorkFailedException first = failure(pair.client().read(here.slice(0, LENGTH), wrong));
        WorkFailedException flushed = failure(receive);
        assertThat(flushed.status()).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
        // On iWARP the end of the connection may be reported before flushed requests.
        Throwable cause = first.getCause() == null ? first : first.getCause();
        assertThat(flushed).hasCause(cause).hasMessageContaining("RECEIVE into 10 bytes at offset 0");
    }

    @Test
    void writeThatIsRefusedEndsTheConnection() throws Exception {
        RemoteRegion wrong = new RemoteRegion(there.describe().address(), LENGTH, 1);
        CompletableFuture<Void> write = pair.client().write(here.slice(0, LENGTH), wrong);
        if (!endpoints.iwarp) { // where it is complete when TCP has it
            assertThat(failure(write).status()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
        }
        assertThat(ConnectedEndpoints.get(pair.client().ended())).isNotNull();
        assertEnded(pair.client().write(here.slice(0, 1), there.describe().slice(0, 1)));
    }

    @Test
    void memoryOfAReceiveCannotBeFreed() throws Exception {
        CompletableFuture<ReceivedMessage> receive = pair.client().receive(here.slice(0, 10));
        assertThatThrownBy(here::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("in use by 1 operations");
        receive.cancel(true);
        assertThatThrownBy(here::close).hasMessageContaining("in use");
        pair.client().close();
        here.close();
    }

    @Test
    void memoryInFlightCannotBeFreedAndDeadlineGivesItBack() throws Exception {
        endpoints.device.assumeInfiniBand("SENDs that wait for a receive");
        pair.client().operationTimeout(Duration.ofMillis(700));
        // The peer has posted no receive, so it stays in flight.
        CompletableFuture<Void> send = pair.client().send(here.slice(0, 10));
        assertThatThrownBy(here::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("in use by 1 operations");
        send.cancel(true);
        assertThatThrownBy(here::close).hasMessageContaining("in use");
        CompletableFuture<Void> behind = pair.client().send(here.slice(0, 10));
        WorkFailedException late = failure(behind);
        assertThat(late.status()).isIn(CompletionStatus.RESPONSE_TIMEOUT, CompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(ConnectedEndpoints.get(pair.client().ended()))
                .hasMessageContaining("SEND of 10 bytes at offset 0")
                .hasMessageContaining("RESPONSE_TIMEOUT");
        here.close();
    }

    @Test
    void boundIsToldAtOnce() throws Exception {
        endpoints.device.assumeInfiniBand("SENDs that wait for a receive");
        List<CompletableFuture<Void>> sends = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            sends.add(pair.client().send(new byte[8])); // stay in flight: no receive is posted
        }
        ThrowingCallable oneMore =
                () -> pair.client().read(here.slice(0, 8), there.describe().slice(0, 8));
        assertThatThrownBy(oneMore)
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("16 operations outstanding");
        ConnectedEndpoints.get(pair.server().receive(there.slice(0, 8)));
        ConnectedEndpoints.get(sends.get(0));
        CompletableFuture<Void> again =
                pair.client().read(here.slice(0, 8), there.describe().slice(0, 8));
        for (int i = 1; i < 16; i++) {
            ConnectedEndpoints.get(pair.server().receive(there.slice(0, 8)));
        }
        ConnectedEndpoints.get(again);
    }

    @Test
    void closeFailsWhatIsOutstandingOnceAndThePeerSeesIt() throws Exception {
        AtomicInteger completions = new AtomicInteger();
        List<CompletableFuture<?>> outstanding = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            if (!endpoints.iwarp) { // where SENDs do not wait for a receive
                outstanding.add(pair.client().send(here.slice(0, 8)));
            }
            outstanding.add(pair.client().receive(here.slice(8, 8)));
        }
        CompletableFuture<?>[] counted = outstanding.stream()
                .map(each -> each.whenComplete((value, reason) -> completions.incrementAndGet()))
                .toArray(CompletableFuture<?>[]::new);
        pair.client().close();
        pair.client().close();
        for (CompletableFuture<?> each : counted) {
            assertThat(failure(each).status()).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
        }
        assertThat(completions).hasValue(outstanding.size());
        assertThat(ConnectedEndpoints.get(pair.server().ended())).hasMessageContaining("DISCONNECTED");
        here.close();
        assertEnded(pair.client().send(new byte[1]));
    }

    @Test
    void closingTheEndpointFailsEverything() throws Exception {
        CompletableFuture<ReceivedMessage> receive = pair.client().receive(here.slice(0, 8));
        // On iWARP a SEND does not wait for a receive.
        CompletableFuture<?> other = endpoints.iwarp
                ? pair.client().receive(here.slice(8, 8))
                : pair.client().send(here.slice(0, 8));
        endpoints.client.close();
        assertThat(failure(receive).getCause()).hasMessageContaining("was closed");
        failure(other);
        assertThat(ConnectedEndpoints.get(pair.server().ended())).hasMessageContaining("DISCONNECTED");
        pair.client().close();
    }

    @Test
    void closingFromAFutureDoesNotHang() throws Exception {
        CompletableFuture<Void> closed = pair.client()
                .read(here.slice(0, 8), there.describe().slice(0, 8))
                .thenRun(() -> pair.client().close());
        ConnectedEndpoints.get(closed);
        ConnectedEndpoints.get(pair.client().ended());
    }
}
