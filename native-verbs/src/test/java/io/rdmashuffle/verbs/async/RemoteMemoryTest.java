// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The side that asks for memory; the test is the server. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RemoteMemoryTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final RemoteRegion GIVEN = new RemoteRegion(1 << 20, 100, 7);

    private final ScriptedDevice device = new ScriptedDevice();
    private long id;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RemoteMemory memory;

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(EndpointOptions.DEFAULT.withMaxInFlight(8));
        CompletableFuture<RemoteMemory> connecting =
                endpoint.connectMemory(new InetSocketAddress(ScriptedDevice.ADDRESS, 1), LONG, new byte[] {9});
        ScriptedDevice.Asked asked = ScriptedDevice.next(device.connects);
        assertThat(asked.privateData()).containsExactly(9);
        id = asked.id();
        device.happen(id, CmConstants.RDMA_CM_EVENT_CONNECT_RESPONSE, 0, 1, 1, new byte[0]);
        memory = ConnectedEndpoints.get(connecting);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    /** Takes the next question, and has the device acknowledge it. */
    private MemoryMessage question() throws Exception {
        ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
        byte[] question = new byte[MemoryMessage.BYTES];
        RawMemory.getBytes(posted.pieces().get(0).address(), question, 0, question.length);
        device.complete(posted, VerbsConstants.IBV_WC_SUCCESS);
        return MemoryMessage.decode(question);
    }

    private void answer(MemoryMessage answer) throws Exception {
        device.deliver(ScriptedDevice.next(device.receives), answer.encode());
    }

    @Test
    void memoryIsAskedForAndGivenBack() throws Exception {
        CompletableFuture<RemoteAllocation> asked = memory.allocate(100, LONG);
        MemoryMessage question = question();
        assertThat(question).isEqualTo(MemoryMessage.allocate(question.id(), 100));
        answer(MemoryMessage.granted(question.id(), GIVEN));
        RemoteAllocation given = ConnectedEndpoints.get(asked);
        assertThat(given.region()).isEqualTo(GIVEN);

        CompletableFuture<Void> freed = given.free();
        assertThat(question()).isEqualTo(MemoryMessage.free(question.id()));
        assertThat(freed).isNotDone();
        given.close();
        assertThatThrownBy(given::region).hasMessageContaining("is closed");
        answer(MemoryMessage.freed(question.id()));
        ConnectedEndpoints.get(freed);
        assertThat(device.posted).as("asked once").isEmpty();
    }

    @Test
    void refusalHasTheReason() throws Exception {
        CompletableFuture<RemoteAllocation> asked = memory.allocate(100, LONG);
        answer(MemoryMessage.refused(question().id(), "no\nroom"));
        assertThatThrownBy(() -> ConnectedEndpoints.get(asked))
                .cause()
                .isInstanceOf(MemoryRefusedException.class)
                .hasMessageContaining("100 bytes of peer ")
                .hasMessageEndingWith("refused: no?room");
        assertThatThrownBy(() -> memory.allocate(0, LONG)).hasMessageContaining("must be positive");
    }

    @Test
    void memoryThatComesTooLateIsGivenBack() throws Exception {
        CompletableFuture<RemoteAllocation> late = memory.allocate(100, Duration.ofMillis(1));
        MemoryMessage question = question();
        assertThatThrownBy(() -> ConnectedEndpoints.get(late))
                .cause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("did not answer within 1 ms, asked for 100 bytes");
        answer(MemoryMessage.granted(question.id(), GIVEN));
        assertThat(question()).isEqualTo(MemoryMessage.free(question.id()));
    }

    @Test
    void cancelledRequestGivesBackWhatItGets() throws Exception {
        CompletableFuture<RemoteAllocation> asked = memory.allocate(100, LONG);
        MemoryMessage question = question();
        asked.cancel(false);
        answer(MemoryMessage.granted(question.id(), GIVEN));
        assertThat(question()).isEqualTo(MemoryMessage.free(question.id()));
    }

    @Test
    void endOfTheConnectionEndsWhatWasAskedFor() throws Exception {
        CompletableFuture<RemoteAllocation> first = memory.allocate(100, LONG);
        answer(MemoryMessage.granted(question().id(), GIVEN));
        RemoteAllocation given = ConnectedEndpoints.get(first);
        CompletableFuture<RemoteAllocation> second = memory.allocate(100, LONG);
        question();
        device.happen(id, CmConstants.RDMA_CM_EVENT_DISCONNECTED);
        assertThatThrownBy(() -> ConnectedEndpoints.get(second)).hasMessageContaining("its memory with it");
        ConnectedEndpoints.get(given.free());
        assertThatThrownBy(() -> ConnectedEndpoints.get(memory.allocate(100, LONG)))
                .hasMessageContaining("has ended");
    }

    @Test
    void moreQuestionsThanSlotsWait() throws Exception {
        List<CompletableFuture<RemoteAllocation>> asked = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            asked.add(memory.allocate(100, LONG));
        }
        assertThat(device.posted).as("as many as there are slots").hasSize(8);
        for (int i = 0; i < 20; i++) {
            answer(MemoryMessage.granted(question().id(), GIVEN));
            ConnectedEndpoints.get(asked.get(i));
        }
    }

    /** Messages and the caller's reads share the queue pair's send queue. */
    @Test
    void questionWaitsForRoomAmongTheCallersOperations() throws Exception {
        LocalRegion region = endpoint.allocate(8);
        List<ScriptedDevice.Posted> reads = new ArrayList<>();
        List<CompletableFuture<Void>> read = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            read.add(memory.connection().read(region.slice(0, 8), GIVEN.slice(0, 8)));
            reads.add(ScriptedDevice.next(device.posted));
        }
        CompletableFuture<RemoteAllocation> asked = memory.allocate(100, LONG);
        assertThat(device.posted).isEmpty();
        device.complete(reads.get(0), VerbsConstants.IBV_WC_SUCCESS);
        ConnectedEndpoints.get(read.get(0));
        answer(MemoryMessage.granted(question().id(), GIVEN));
        ConnectedEndpoints.get(asked);
    }

    @Test
    void answersToOtherQuestionsEndTheConnection() throws Exception {
        CompletableFuture<RemoteAllocation> asked = memory.allocate(100, LONG);
        MemoryMessage question = question();
        answer(MemoryMessage.granted(question.id(), new RemoteRegion(0, 99, 0)));
        assertThatThrownBy(() -> ConnectedEndpoints.get(asked)).hasMessageContaining("has ended");
        assertThat(ConnectedEndpoints.get(memory.connection().ended()))
                .hasMessageContaining("an answer to no question: GRANTED");
    }
}
