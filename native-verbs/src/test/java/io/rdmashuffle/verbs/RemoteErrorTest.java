// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Requests that the peer, or the local device, refuses. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class RemoteErrorTest {
    private static final int LENGTH = 8192;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private Loopback loopback;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private Memory local;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private Memory remote;

    private final SendRequests chain = new SendRequests(4, 1);

    private void connect(int rnrRetries, Set<Access> queuePairRights, Set<Access> regionRights) {
        loopback = Loopback.connect(rnrRetries, false, queuePairRights);
        local = Memory.of(loopback.domain, LENGTH);
        remote = Memory.of(loopback.domain, LENGTH, regionRights);
    }

    @AfterEach
    void close() {
        chain.close();
        if (loopback != null) { // null if the test was skipped
            loopback.close();
            local.close();
            remote.close();
        }
    }

    private void post() {
        assertThat(loopback.client.post(chain)).isEqualTo(chain.size());
    }

    /** The first request is a READ that the peer refuses: on iWARP by ending the connection, so that it is flushed. */
    private void assertRefused(CompletionStatus... statuses) {
        post();
        CompletionStatus status = Loopback.awaitStatus(loopback.clientQueue, 1);
        if (loopback.iwarp) {
            assertThat(status).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
            CmEvents.expect(loopback.events, CmEvent.Type.DISCONNECTED);
        } else {
            assertThat(status).isIn((Object[]) statuses);
        }
        Loopback.assertState(loopback.device, loopback.client, QueuePair.State.ERROR);
    }

    /** The only request is a WRITE or SEND that the peer refuses: on iWARP it is complete before the peer has it. */
    private void assertRefusedOnArrival(CompletionStatus... statuses) {
        if (loopback.iwarp) {
            post();
            CmEvents.expect(loopback.events, CmEvent.Type.DISCONNECTED);
            Loopback.assertState(loopback.device, loopback.client, QueuePair.State.ERROR);
        } else {
            assertRefused(statuses);
        }
    }

    private SendRequests read(long remoteAddress, int remoteKey) {
        return chain.read(1, local.at(0), LENGTH, local.localKey(), remoteAddress, remoteKey, false);
    }

    @Test
    void wrongKey() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey() ^ 0x7700);
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void outOfBounds() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(1), remote.remoteKey());
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void regionTakenBack() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey());
        remote.region().close();
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void regionThatMayNotBeRead() {
        connect(6, Loopback.REMOTE, Set.of(Access.LOCAL_WRITE));
        loopback.device.assume(!loopback.device.isOf("siw"), "a check whether a region may be read");
        read(remote.at(0), remote.remoteKey());
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void regionThatMayNotBeWritten() {
        connect(6, Loopback.REMOTE, Set.of(Access.LOCAL_WRITE, Access.REMOTE_READ));
        local.with(new byte[] {1});
        chain.write(1, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), false);
        assertRefusedOnArrival(CompletionStatus.REMOTE_ACCESS_ERROR);
        assertThat(remote.bytes(1)).containsExactly(0);
    }

    @Test
    void queuePairWithoutTheRight() {
        connect(6, Set.of(Access.REMOTE_WRITE), Memory.ALL);
        loopback.device.assume(!loopback.device.isOf("siw"), "a check of the rights of a queue pair's peer");
        read(remote.at(0), remote.remoteKey());
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR, CompletionStatus.REMOTE_INVALID_REQUEST);
    }

    @Test
    void laterRequestsAreFlushed() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey() ^ 0x7700)
                .read(2, local.at(0), 1, local.localKey(), remote.at(0), remote.remoteKey(), true);
        assertRefused(CompletionStatus.REMOTE_ACCESS_ERROR);
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 2)).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void wrongLocalKey() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        chain.write(1, local.at(0), 10, local.localKey() ^ 0x7700, remote.at(0), remote.remoteKey(), false);
        post();
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 1))
                .isIn(CompletionStatus.LOCAL_PROTECTION_ERROR, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
        Loopback.assertState(loopback.device, loopback.client, QueuePair.State.ERROR);
    }

    @Test
    void noReceivePosted() {
        connect(1, Loopback.REMOTE, Memory.ALL);
        chain.send(1, local.at(0), 10, local.localKey(), false);
        assertRefusedOnArrival(CompletionStatus.RNR_RETRY_EXCEEDED);
    }

    @Test
    void receivePostedWhileTheSenderRetries() throws Exception {
        connect(6, Loopback.REMOTE, Memory.ALL);
        loopback.device.assumeInfiniBand("SENDs that wait for a receive");
        chain.send(1, local.at(0), 10, local.localKey(), true);
        assertThat(loopback.client.post(chain)).isEqualTo(1);
        Thread.sleep(100);
        try (ReceiveRequests receives = new ReceiveRequests(1)) {
            assertThat(loopback.server.post(receives.add(2, remote.at(0), 10, remote.localKey())))
                    .isEqualTo(1);
        }
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        Loopback.awaitSuccess(loopback.serverQueue, 2);
    }

    @Test
    void receiveTooShort() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        try (ReceiveRequests receives = new ReceiveRequests(1)) {
            assertThat(loopback.server.post(receives.add(2, remote.at(0), 5, remote.localKey())))
                    .isEqualTo(1);
        }
        chain.send(1, local.at(0), 10, local.localKey(), false);
        // The specification says the first; soft-RoCE answers the second, and calls it its own operation error.
        assertRefusedOnArrival(CompletionStatus.REMOTE_INVALID_REQUEST, CompletionStatus.REMOTE_OPERATION_ERROR);
        CompletionStatus received = Loopback.awaitStatus(loopback.serverQueue, 2);
        if (loopback.device.isOf("siw")) {
            assertThat(received).isIn(CompletionStatus.LOCAL_LENGTH_ERROR, CompletionStatus.WORK_REQUEST_FLUSHED);
        } else {
            assertThat(received).isIn(CompletionStatus.LOCAL_LENGTH_ERROR, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
        }
    }
}
