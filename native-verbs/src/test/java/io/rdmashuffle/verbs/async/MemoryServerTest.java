// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a server of memory gives to peers, the test among them, and what none of them gets. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MemoryServerTest {
    private static final int PAGE = MemoryBudget.PAGE_BYTES;
    private static final int SLOTS = 8;
    private static final long CAP = 4L * PAGE;

    private final ScriptedDevice device = new ScriptedDevice();
    private final Set<Long> given = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<Long> freed = new LinkedBlockingQueue<>();

    private volatile boolean counting;
    private final Queue<ScriptedDevice.Receive> receives = new ArrayDeque<>();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private MemoryServer server;

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(EndpointOptions.DEFAULT);
        server = endpoint.serveMemory(0, CAP, request -> ConnectAnswer.accept());
        device.fake.answer("ibv_reg_mr", arguments -> {
            long region = device.fake.create();
            if (counting) {
                given.add(region);
            }
            return region;
        });
        device.fake.answer("ibv_dereg_mr", arguments -> {
            if (given.contains((Long) arguments[0])) {
                freed.add((Long) arguments[0]);
            }
            return null;
        });
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    /** Connects; later registrations are memory for peers. */
    private long connect() throws Exception {
        counting = false;
        long id = device.request(server.address().getPort(), 1, 1, new byte[0]);
        ScriptedDevice.next(device.accepts);
        receives.clear();
        for (int i = 0; i < SLOTS; i++) {
            receives.add(nextReceive());
        }
        counting = true;
        return id;
    }

    /** Returns the next receive of the connection made last. */
    private ScriptedDevice.Receive nextReceive() throws Exception {
        ScriptedDevice.Receive receive = ScriptedDevice.next(device.receives);
        while (receive.queue() != device.lastPair()) {
            receive = ScriptedDevice.next(device.receives);
        }
        return receive;
    }

    private void tell(MemoryMessage request) throws Exception {
        tell(request.encode());
    }

    private void tell(byte[] message) throws Exception {
        device.deliver(receives.isEmpty() ? nextReceive() : receives.remove(), message);
    }

    private MemoryMessage ask(MemoryMessage request) throws Exception {
        tell(request);
        ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
        assertThat(posted.opcode()).isEqualTo(VerbsConstants.IBV_WR_SEND);
        byte[] answer = new byte[MemoryMessage.BYTES];
        RawMemory.getBytes(posted.pieces().get(0).address(), answer, 0, answer.length);
        device.complete(posted, VerbsConstants.IBV_WC_SUCCESS);
        return MemoryMessage.decode(answer);
    }

    private MemoryMessage.Type allocate(int id, long lengthBytes) throws Exception {
        return ask(MemoryMessage.allocate(id, lengthBytes)).type();
    }

    @Test
    void allocatesZeroedMemoryOfTheRequestedLength() throws Exception {
        connect();
        MemoryMessage granted = ask(MemoryMessage.allocate(5, 100));
        assertThat(granted.type()).isEqualTo(MemoryMessage.Type.GRANTED);
        assertThat(granted.id()).isEqualTo(5);
        assertThat(granted.region().lengthBytes()).isEqualTo(100);
        assertThat(RawMemory.getLong(granted.region().address())).isZero();
        assertThat(server.usedBytes()).as("in whole pages").isEqualTo(PAGE);
        assertThat(ask(MemoryMessage.free(5)).type()).isEqualTo(MemoryMessage.Type.FREED);
        assertThat(freed).hasSize(1);
        assertThat(server.usedBytes()).isZero();
        assertThat(ask(MemoryMessage.free(5)).type()).as("again").isEqualTo(MemoryMessage.Type.FREED);
        assertThat(freed).hasSize(1);
    }

    @Test
    void boundIsKeptByAllPeersTogether() throws Exception {
        connect();
        assertThat(allocate(1, 2 * PAGE)).isEqualTo(MemoryMessage.Type.GRANTED);
        assertThat(allocate(2, PAGE + 1)).isEqualTo(MemoryMessage.Type.GRANTED);
        MemoryMessage refused = ask(MemoryMessage.allocate(3, 1));
        assertThat(refused.type()).isEqualTo(MemoryMessage.Type.REFUSED);
        assertThat(refused.text()).isEqualTo("16384 of 16384 bytes are in use");
        assertThat(given).hasSize(2);
        assertThat(ask(MemoryMessage.free(2)).type()).isEqualTo(MemoryMessage.Type.FREED);
        assertThat(allocate(3, 2 * PAGE + 1)).isEqualTo(MemoryMessage.Type.REFUSED);
        assertThat(allocate(3, 2 * PAGE)).isEqualTo(MemoryMessage.Type.GRANTED);
        assertThat(server.usedBytes()).isEqualTo(CAP);
    }

    @Test
    void noLengthGetsAroundTheBound() throws Exception {
        connect();
        for (long length : new long[] {0, CAP + 1, Long.MAX_VALUE, Long.MAX_VALUE - PAGE}) {
            assertThat(allocate(1, length)).as("%d bytes", length).isEqualTo(MemoryMessage.Type.REFUSED);
        }
        assertThat(given).isEmpty();
        assertThat(server.usedBytes()).isZero();
        assertThat(allocate(1, CAP)).isEqualTo(MemoryMessage.Type.GRANTED);
    }

    @Test
    void failedRegistrationIsRefusedAndNotCounted() throws Exception {
        connect();
        device.fake.fail("ibv_reg_mr", Errno.ENOMEM);
        MemoryMessage refused = ask(MemoryMessage.allocate(1, 10));
        assertThat(refused.type()).isEqualTo(MemoryMessage.Type.REFUSED);
        assertThat(refused.text()).contains("ENOMEM");
        assertThat(server.usedBytes()).isZero();
    }

    @Test
    void memoryIsFreedWhenTheConnectionEnds() throws Exception {
        long id = connect();
        allocate(1, PAGE);
        allocate(2, PAGE);
        device.happen(id, CmConstants.RDMA_CM_EVENT_DISCONNECTED);
        ScriptedDevice.next(freed);
        ScriptedDevice.next(freed);
        connect();
        assertThat(allocate(1, CAP)).as("all of it is there again").isEqualTo(MemoryMessage.Type.GRANTED);
    }

    /** None of these is what a peer of this library sends. */
    @Test
    void peersThatBreakTheRulesLoseTheirConnectionAndMemory() throws Exception {
        byte[][] messages = {
            new byte[MemoryMessage.BYTES - 1],
            ByteBuffer.allocate(MemoryMessage.BYTES).putInt(99).array(),
            ByteBuffer.allocate(MemoryMessage.BYTES).putInt(-1).array(),
            MemoryMessage.freed(1).encode(),
            MemoryMessage.allocate(1, 10).encode(), // which it has
            ByteBuffer.allocate(MemoryMessage.BYTES).putInt(1).putLong(16, -5).array(),
            ByteBuffer.allocate(MemoryMessage.BYTES).putInt(1).putInt(28, 1000).array(),
        };
        for (byte[] message : messages) {
            connect();
            assertThat(allocate(1, CAP)).as("all that there is").isEqualTo(MemoryMessage.Type.GRANTED);
            tell(message);
            ScriptedDevice.next(freed);
        }
    }

    @Test
    void peerThatIsNotAdmittedGetsNothing() throws Exception {
        counting = true;
        try (MemoryServer closed = endpoint.serveMemory(0, 0, request -> ConnectAnswer.accept());
                MemoryServer picky = endpoint.serveMemory(0, CAP, request -> ConnectAnswer.refuse("not you"))) {
            device.request(closed.address().getPort(), 1, 1, new byte[0]);
            assertThat(ScriptedDevice.next(device.rejects)).asString().contains("gives no memory");
            device.request(picky.address().getPort(), 1, 1, new byte[0]);
            assertThat(ScriptedDevice.next(device.rejects)).asString().isEqualTo("not you");
        }
        assertThat(given).isEmpty();
        assertThatThrownBy(() -> endpoint.serveMemory(0, -1, request -> ConnectAnswer.accept()))
                .hasMessageContaining("at least 0");
    }

    @Test
    void closeFreesWhatPeersHave() throws Exception {
        connect();
        allocate(1, PAGE);
        server.close();
        server.close();
        assertThat(freed).hasSize(1);
        assertThat(server.usedBytes()).isZero();
    }

    @Test
    void endpointClosesItsServers() throws Exception {
        connect();
        allocate(1, PAGE);
        endpoint.close();
        assertThat(server.usedBytes()).isZero();
        assertThatThrownBy(() -> endpoint.serveMemory(0, CAP, request -> ConnectAnswer.accept()))
                .isInstanceOf(IllegalStateException.class);
    }
}
