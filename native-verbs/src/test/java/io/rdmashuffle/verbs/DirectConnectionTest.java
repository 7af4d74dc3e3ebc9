// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_init_attr;
import io.rdmashuffle.ffi.VerbsConstants;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Queue pairs that are connected by what their users told each other. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class DirectConnectionTest {
    private static final int LENGTH = 10_000;

    private final byte[] content = content();
    private final SendRequests chain = new SendRequests(16, 1);
    private final ReceiveRequests receives = new ReceiveRequests(4);

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private DirectPairs pairs;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory local;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory remote;

    private static byte[] content() {
        long seed = System.nanoTime();
        System.out.println("DirectConnectionTest seed " + seed);
        byte[] content = new byte[LENGTH];
        new Random(seed).nextBytes(content);
        return content;
    }

    @BeforeEach
    void create() {
        device = RdmaTestDevice.require();
        pairs = new DirectPairs(device);
        local = Memory.of(pairs.domain, LENGTH);
        remote = Memory.of(pairs.domain, LENGTH);
    }

    @AfterEach
    void close() {
        chain.close();
        receives.close();
        if (pairs != null) { // null if the test was skipped
            pairs.close();
            local.close();
            remote.close();
        }
    }

    private void connect(PairAttributes attributes) {
        pairs.connect(attributes, attributes, Loopback.REMOTE);
    }

    private void write() {
        chain.clear();
        chain.write(1, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), true);
        assertThat(pairs.client.post(chain)).isEqualTo(1);
    }

    private int pathMtu(QueuePair pair) {
        try (NativeBuffer attributes = new NativeBuffer(ibv_qp_attr.SIZEOF);
                NativeBuffer init = new NativeBuffer(ibv_qp_init_attr.SIZEOF)) {
            assertThat(device.library()
                            .verbs()
                            .ibv_query_qp(
                                    pair.handle(),
                                    attributes.address(),
                                    VerbsConstants.IBV_QP_PATH_MTU,
                                    init.address()))
                    .isZero();
            return PortAttributes.mtuBytes(attributes.getInt(ibv_qp_attr.path_mtu));
        }
    }

    @Test
    void statesFollowOneAnother() {
        PairAddress server = pairs.server.address(pairs.attributes);
        assertThat(pairs.client.state()).isEqualTo(QueuePair.State.RESET);
        pairs.client.initialize(pairs.attributes, Set.of());
        assertThat(pairs.client.state()).isEqualTo(QueuePair.State.INITIALIZED);
        pairs.client.readyToReceive(pairs.attributes, server);
        assertThat(pairs.client.state()).isEqualTo(QueuePair.State.READY_TO_RECEIVE);
        pairs.client.readyToSend(pairs.attributes, server);
        assertThat(pairs.client.state()).isEqualTo(QueuePair.State.READY_TO_SEND);
    }

    @Test
    void writesAndReads() {
        connect(pairs.attributes.withDepths(4, 4));
        local.with(content);
        write();
        Loopback.awaitSuccess(pairs.clientQueue, 1);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
        local.with(new byte[LENGTH]);
        chain.clear();
        for (int i = 0; i < 10; i++) {
            int at = i * LENGTH / 10;
            chain.read(i, local.at(at), LENGTH / 10, local.localKey(), remote.at(at), remote.remoteKey(), false);
        }
        chain.signaled();
        assertThat(pairs.client.post(chain)).isEqualTo(10);
        Loopback.awaitSuccess(pairs.clientQueue, 9);
        assertThat(local.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void sendsBothWays() {
        connect(pairs.attributes);
        local.with(content);
        assertThat(pairs.server.post(receives.add(7, remote.at(0), LENGTH, remote.localKey())))
                .isEqualTo(1);
        chain.send(1, local.at(0), LENGTH, local.localKey(), true);
        assertThat(pairs.client.post(chain)).isEqualTo(1);
        Loopback.awaitSuccess(pairs.clientQueue, 1);
        Loopback.awaitSuccess(pairs.serverQueue, 7);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);

        receives.clear();
        local.with(new byte[LENGTH]);
        assertThat(pairs.client.post(receives.add(8, local.at(0), LENGTH, local.localKey())))
                .isEqualTo(1);
        chain.clear();
        chain.send(2, remote.at(0), LENGTH, remote.localKey(), true);
        assertThat(pairs.server.post(chain)).isEqualTo(1);
        Loopback.awaitSuccess(pairs.serverQueue, 2);
        Loopback.awaitSuccess(pairs.clientQueue, 8);
        assertThat(local.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void sequenceNumbersPassTheirEnd() {
        pairs.connect(
                pairs.attributes.withFirstSequence(0xffffff), pairs.attributes.withFirstSequence(0), Loopback.REMOTE);
        local.with(content);
        write();
        Loopback.awaitSuccess(pairs.clientQueue, 1);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void smallerMtuOfTheTwoIsUsed() {
        pairs.connect(
                pairs.attributes.withPath(1024, 0, 0, 64), pairs.attributes.withPath(256, 0, 0, 64), Loopback.REMOTE);
        assertThat(pathMtu(pairs.client)).isEqualTo(256);
        assertThat(pathMtu(pairs.server)).isEqualTo(256);
        local.with(content);
        write();
        Loopback.awaitSuccess(pairs.clientQueue, 1);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void peerLostEndsTheRetries() {
        connect(pairs.attributes.withRetries(12, 2, 6, 12));
        pairs.server.close();
        write();
        assertThat(Loopback.awaitStatus(pairs.clientQueue, 1)).isEqualTo(CompletionStatus.RETRY_EXCEEDED);
        assertThat(pairs.client.state()).isEqualTo(QueuePair.State.ERROR);
    }

    @Test
    void noReceivePostedEndsTheRnrRetries() {
        connect(pairs.attributes.withRetries(14, 7, 1, 1));
        chain.send(1, local.at(0), 10, local.localKey(), false);
        assertThat(pairs.client.post(chain)).isEqualTo(1);
        assertThat(Loopback.awaitStatus(pairs.clientQueue, 1)).isEqualTo(CompletionStatus.RNR_RETRY_EXCEEDED);
    }

    @Test
    void rightsAreThoseOfInitialize() {
        pairs.connect(pairs.attributes, pairs.attributes, Set.of(Access.REMOTE_READ));
        write();
        assertThat(Loopback.awaitStatus(pairs.clientQueue, 1))
                .isIn(CompletionStatus.REMOTE_ACCESS_ERROR, CompletionStatus.REMOTE_INVALID_REQUEST);
    }

    @Test
    void identifierThatThePortDoesNotHaveIsRefused() {
        GidEntry none = new GidEntry(pairs.attributes.port(), 200, GidEntry.Type.ROCE_V2, device.address());
        PairAttributes wrong = PairAttributes.on(pairs.context.port(pairs.attributes.port()), none);
        pairs.client.initialize(wrong, Set.of());
        PairAddress server = pairs.server.address(pairs.attributes);
        assertThatThrownBy(() -> pairs.client.readyToReceive(wrong, server))
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("ibv_modify_qp(state=2, PairAddress[");
    }
}
