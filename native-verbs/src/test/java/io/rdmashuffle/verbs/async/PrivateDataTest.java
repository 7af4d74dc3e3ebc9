// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Bytes that travel with requests and answers, and refusals with a reason. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PrivateDataTest {
    private static final InetSocketAddress REMOTE = new InetSocketAddress(ScriptedDevice.ADDRESS, 1);
    private static final int CONSUMER_DEFINED = 28;

    private final ScriptedDevice device = new ScriptedDevice();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(EndpointOptions.DEFAULT);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    private CompletableFuture<RdmaConnection> connect(byte... data) {
        return endpoint.connect(REMOTE, Duration.ofSeconds(30), data);
    }

    @Test
    void requestCarriesTheCallersBytesAndBringsTheAnswers() throws Exception {
        CompletableFuture<RdmaConnection> connecting = connect((byte) 1, (byte) 2);
        ScriptedDevice.Asked asked = ScriptedDevice.next(device.connects);
        assertThat(asked.privateData()).containsExactly(1, 2);
        device.happen(asked.id(), CmConstants.RDMA_CM_EVENT_CONNECT_RESPONSE, 0, 1, 1, new byte[] {3, 4, 0});
        RdmaConnection connection = ConnectedEndpoints.get(connecting);
        assertThat(connection.peerData()).containsExactly(3, 4, 0);
        connection.peerData()[0] = 9;
        assertThat(connection.peerData()).as("a copy").containsExactly(3, 4, 0);
    }

    @Test
    void sizesAreThoseOfTheConnectionManager() throws Exception {
        assertThatThrownBy(() -> connect(new byte[57]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("private data of a request of 57 bytes: at most 56");
        CompletableFuture<RdmaConnection> longest = connect(new byte[56]);
        assertThat(ScriptedDevice.next(device.connects).privateData()).hasSize(56);
        assertThat(longest).isNotDone();
        assertThatThrownBy(() -> ConnectAnswer.accept(new byte[197])).hasMessageContaining("at most 196");
        assertThatThrownBy(() -> ConnectAnswer.refuse("\u00e9".repeat(75))).hasMessageContaining("at most 148");
        assertThat(ConnectAnswer.accept(new byte[196]).privateData()).hasSize(196);
        assertThat(ConnectAnswer.refuse("\u00e9".repeat(74)).privateData()).hasSize(148);
    }

    @Test
    void listenerDecidesByTheRequest() throws Exception {
        CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
        RdmaListener listener = endpoint.listen(
                0,
                request -> request.privateData()[0] == 1
                        ? ConnectAnswer.accept(new byte[] {(byte) (request.privateData()[1] + 1)})
                        : ConnectAnswer.refuse("only 1, not " + request.privateData()[0]),
                accepted::complete);
        int port = listener.address().getPort();
        device.request(port, 1, 1, new byte[] {2});
        assertThat(ScriptedDevice.next(device.rejects)).asString().isEqualTo("only 1, not 2");
        assertThat(device.lastPair()).as("nothing was made for it").isZero();

        device.request(port, 1, 1, new byte[] {1, 5});
        assertThat(ScriptedDevice.next(device.accepts).privateData()).containsExactly(6);
        assertThat(ConnectedEndpoints.get(accepted).peerData()).containsExactly(1, 5);
    }

    @Test
    void admissionThatThrowsRefusesOneRequest() throws Exception {
        RdmaListener listener = endpoint.listen(
                0,
                request -> {
                    if (request.privateData().length == 0) {
                        throw new IllegalStateException("no");
                    }
                    return ConnectAnswer.accept();
                },
                connection -> {});
        device.request(listener.address().getPort(), 1, 1, new byte[0]);
        assertThat(ScriptedDevice.next(device.rejects)).asString().isEqualTo("IllegalStateException");
        device.request(listener.address().getPort(), 1, 1, new byte[1]);
        ScriptedDevice.next(device.accepts);
    }

    @Test
    void clientSeesWhyItWasRefused() throws Exception {
        assertThat(refused("no room\u001b[2J\0\0\0"))
                .hasMessageContaining("the peer refused the request: no room?[2J")
                .extracting(RdmaRefusedException::reason)
                .isEqualTo("no room?[2J");
        assertThat(refused("\0\0"))
                .hasMessageContaining("REJECTED (reason 28)")
                .extracting(RdmaRefusedException::reason)
                .isEqualTo("");
    }

    private RdmaRefusedException refused(String data) throws Exception {
        CompletableFuture<RdmaConnection> connecting = connect();
        byte[] sent = data.getBytes(StandardCharsets.UTF_8);
        long id = ScriptedDevice.next(device.connects).id();
        device.happen(id, CmConstants.RDMA_CM_EVENT_REJECTED, CONSUMER_DEFINED, 0, 0, sent);
        Throwable failure = ConnectedEndpoints.get(connecting.handle((made, reason) -> reason));
        assertThat(failure).isInstanceOf(RdmaRefusedException.class);
        return (RdmaRefusedException) failure;
    }
}
