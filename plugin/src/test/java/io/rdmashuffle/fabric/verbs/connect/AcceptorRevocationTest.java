// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What becomes of processes that have left the membership, on a fake connection manager and device. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class AcceptorRevocationTest {
    private ConnectRig rig;
    private Acceptor acceptor;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        acceptor = rig.acceptor(ConnectRig.SECRET);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
    }

    private static Handshake handshake(int lane) {
        return Handshake.request(
                ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, lane, ConnectRig.SECRET, ConnectRig.ENDS);
    }

    private static Handshake from(long fabricId, int lane) {
        return Handshake.request(fabricId, ConnectRig.FABRIC_ID, lane, ConnectRig.SECRET, ConnectRig.ENDS);
    }

    /** Has a peer ask to connect; returns the id of the request. */
    private long ask(byte[] privateData) {
        return rig.ask(acceptor, privateData);
    }

    private void assertInError(int pair) {
        assertThat(rig.rdma.queues().state(pair)).isEqualTo(VerbsConstants.IBV_QPS_ERR);
    }

    private void passLastReceives() {
        rig.pass(Duration.ofNanos(EndingPairs.LAST_RECEIVE_NANOS));
        acceptor.expire();
    }

    private void assertRefused(byte[] privateData, Handshake.Refusal refusal) {
        long id = ask(privateData);
        byte[] told = Objects.requireNonNull(rig.rdma.rejectOf(id), "not rejected");
        assertThat(Handshake.meaningOf(told)).isEqualTo(refusal.meaning());
        assertThat(rig.rdma.acceptOf(id)).isNull();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @Test
    void revokedProcessIsRefusedUntilItReturns() {
        long first = ask(handshake(0).encoded());
        long second = ask(handshake(1).encoded());
        long other = ask(from(33, 0).encoded());
        List<Integer> pairs = rig.rdma.queues().pairNumbers();
        rig.revoke(acceptor, ConnectRig.PEER_FABRIC_ID);
        assertThat(pairs.subList(0, 2)).as("at once").allSatisfy(this::assertInError);
        passLastReceives();
        assertThat(rig.rdma.isOpen(first)).isFalse();
        assertThat(rig.rdma.isOpen(second)).isFalse();
        assertThat(rig.rdma.isOpen(other)).isTrue();
        assertThat(rig.rdma.queues().pairNumbers()).as("that of the other").hasSize(1);
        assertRefused(handshake(0).encoded(), Handshake.Refusal.NOT_A_MEMBER);
        rig.admissions.admit(ConnectRig.PEER_FABRIC_ID);
        ask(handshake(0).encoded());
        assertThat(rig.rdma.queues().pairNumbers()).hasSize(2);
    }

    @Test
    void undestroyableQueuePairIsMovedToError() {
        ask(handshake(0).encoded());
        ask(handshake(1).encoded());
        rig.rdma.fail("ibv_destroy_qp", Errno.EIO);
        rig.revoke(acceptor, ConnectRig.PEER_FABRIC_ID);
        passLastReceives();
        rig.rdma.repair("ibv_destroy_qp");
        assertThat(rig.rdma.queues().pairNumbers()).hasSize(2).allSatisfy(this::assertInError);
        rig.rdma.queues().pairNumbers().forEach(rig.rdma.queues()::forget);
    }

    @Test
    void processesThatLeftAreRememberedUpToABound() {
        for (int i = 0; i <= Admissions.REMEMBERED_REVOKED; i++) {
            rig.revoke(acceptor, 1000 + i);
            // Twice is not two.
            rig.revoke(acceptor, 1000 + i);
        }
        assertRefused(from(1001, 0).encoded(), Handshake.Refusal.NOT_A_MEMBER);
        ask(from(1000, 0).encoded());
        assertThat(rig.rdma.queues().pairNumbers()).as("forgotten").hasSize(1);
    }
}
