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

    private CompletionStatus outcome() {
        assertThat(loopback.client.post(chain)).isEqualTo(chain.size());
        CompletionStatus status = Loopback.awaitStatus(loopback.clientQueue, 1);
        assertThat(loopback.client.state()).isEqualTo(QueuePair.State.ERROR);
        return status;
    }

    private SendRequests read(long remoteAddress, int remoteKey) {
        return chain.read(1, local.at(0), LENGTH, local.localKey(), remoteAddress, remoteKey, false);
    }

    @Test
    void wrongKey() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey() ^ 0x7700);
        assertThat(outcome()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void outOfBounds() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(1), remote.remoteKey());
        assertThat(outcome()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void regionTakenBack() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey());
        remote.region().close();
        assertThat(outcome()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void regionWithoutTheRight() {
        connect(6, Loopback.REMOTE, Set.of(Access.LOCAL_WRITE));
        read(remote.at(0), remote.remoteKey());
        assertThat(outcome()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    void queuePairWithoutTheRight() {
        connect(6, Set.of(Access.REMOTE_WRITE), Memory.ALL);
        read(remote.at(0), remote.remoteKey());
        assertThat(outcome()).isIn(CompletionStatus.REMOTE_ACCESS_ERROR, CompletionStatus.REMOTE_INVALID_REQUEST);
    }

    @Test
    void whatComesBehindIsFlushed() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        read(remote.at(0), remote.remoteKey() ^ 0x7700)
                .write(2, local.at(0), 1, local.localKey(), remote.at(0), remote.remoteKey(), true);
        assertThat(outcome()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR);
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 2)).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void wrongLocalKey() {
        connect(6, Loopback.REMOTE, Memory.ALL);
        chain.write(1, local.at(0), 10, local.localKey() ^ 0x7700, remote.at(0), remote.remoteKey(), false);
        assertThat(outcome()).isIn(CompletionStatus.LOCAL_PROTECTION_ERROR, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
    }

    @Test
    void noReceivePosted() {
        connect(1, Loopback.REMOTE, Memory.ALL);
        chain.send(1, local.at(0), 10, local.localKey(), false);
        assertThat(outcome()).isEqualTo(CompletionStatus.RNR_RETRY_EXCEEDED);
    }

    @Test
    void receivePostedWhileTheSenderRetries() throws Exception {
        connect(6, Loopback.REMOTE, Memory.ALL);
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
        assertThat(outcome()).isIn(CompletionStatus.REMOTE_INVALID_REQUEST, CompletionStatus.REMOTE_OPERATION_ERROR);
        assertThat(Loopback.awaitStatus(loopback.serverQueue, 2))
                .isIn(CompletionStatus.LOCAL_LENGTH_ERROR, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
    }
}
