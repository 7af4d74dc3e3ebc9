// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Every kind of work request between two queue pairs, with the payload compared. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class WorkRequestsTest {
    private static final int LENGTH = 10_000;
    private static final byte[] SMALL = "small message".getBytes(StandardCharsets.US_ASCII);

    private final byte[] content = content();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Loopback loopback;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory local;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory remote;

    private final SendRequests chain = new SendRequests(16, 4);
    private final ReceiveRequests receives = new ReceiveRequests(4);

    private static byte[] content() {
        long seed = System.nanoTime();
        System.out.println("WorkRequestsTest seed " + seed);
        byte[] content = new byte[LENGTH];
        new Random(seed).nextBytes(content);
        return content;
    }

    @BeforeEach
    void connect() {
        loopback = Loopback.connect();
        local = Memory.of(loopback.domain, LENGTH);
        remote = Memory.of(loopback.domain, LENGTH);
    }

    @AfterEach
    void close() {
        chain.close();
        receives.close();
        if (loopback != null) { // null if the test was skipped
            loopback.close();
            local.close();
            remote.close();
        }
    }

    private void post() {
        assertThat(loopback.client.post(chain)).isEqualTo(chain.size());
    }

    private void receive(long id, int length) {
        assertThat(loopback.server.post(receives.add(id, remote.at(0), length, remote.localKey())))
                .isEqualTo(1);
    }

    private void assertReceived(long id, int length, boolean withImmediate) {
        try (WorkCompletions one = new WorkCompletions(4)) {
            Loopback.await(loopback.serverQueue, one);
            assertThat(one.count()).isEqualTo(1);
            assertThat(one.status(0)).isEqualTo(CompletionStatus.SUCCESS);
            assertThat(one.isReceive(0)).isTrue();
            assertThat(one.workRequestId(0)).isEqualTo(id);
            assertThat(one.lengthBytes(0)).isEqualTo(length);
            assertThat(one.hasImmediate(0)).isEqualTo(withImmediate);
            assertThat(one.queuePairNumber(0)).isEqualTo(loopback.server.number());
            if (withImmediate) {
                assertThat(one.immediate(0)).isEqualTo(0x81020304);
            }
        }
    }

    @Test
    void send() {
        receive(7, LENGTH);
        local.with(content);
        chain.send(1, local.at(0), LENGTH, local.localKey(), true);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        assertReceived(7, LENGTH, false);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
    }

    /** Skips what sends an immediate on a device that refuses it. */
    private void needImmediate() {
        if (loopback.device.isOf("siw")) {
            chain.send(9, 0, 0, 0, true).withImmediate(1);
            assertThatThrownBy(this::post)
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("post of request 0 of 1 to queue pair")
                    .hasMessageContaining("EINVAL (22)");
            loopback.device.assume(false, "immediate data");
        }
    }

    @Test
    void sendOfNothingWithImmediate() {
        needImmediate();
        receive(7, LENGTH);
        chain.send(1, 0, 0, 0, true).withImmediate(0x81020304);
        post();
        assertReceived(7, 0, true);
        Loopback.awaitSuccess(loopback.clientQueue, 1);
    }

    @Test
    void sendInline() {
        receive(7, LENGTH);
        local.with(SMALL);
        assertThat(loopback.client.inlineBytes()).isGreaterThanOrEqualTo(Loopback.SIZES.inlineBytes());
        chain.send(1, local.at(0), SMALL.length, 0, true).inline();
        post();
        local.with(new byte[SMALL.length]); // the device has its copy
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        assertReceived(7, SMALL.length, false);
        assertThat(remote.bytes(SMALL.length)).isEqualTo(SMALL);
    }

    @Test
    void read() {
        remote.with(content);
        chain.read(1, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), true);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        assertThat(local.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void write() {
        local.with(content);
        chain.write(1, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), true);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        loopback.awaitArrival(local, remote);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void writeWithImmediate() {
        needImmediate();
        receive(7, 0);
        local.with(content);
        chain.write(1, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), true)
                .withImmediate(0x81020304);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        assertReceived(7, LENGTH, true);
        assertThat(remote.bytes(LENGTH)).isEqualTo(content);
    }

    @Test
    void atomics() {
        loopback.device.assume(loopback.context.limits().atomics(), "atomics");
        remote.buffer().putLong(8, 40);
        chain.fetchAndAdd(1, local.at(0), local.localKey(), remote.at(8), remote.remoteKey(), 2);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        assertThat(local.buffer().getLong(0)).isEqualTo(40);
        assertThat(remote.buffer().getLong(8)).isEqualTo(42);

        chain.clear();
        chain.compareAndSwap(2, local.at(0), local.localKey(), remote.at(8), remote.remoteKey(), 42, 1L << 40)
                .compareAndSwap(3, local.at(8), local.localKey(), remote.at(8), remote.remoteKey(), 42, 7);
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 2);
        Loopback.awaitSuccess(loopback.clientQueue, 3);
        assertThat(local.buffer().getLong(0)).isEqualTo(42);
        assertThat(local.buffer().getLong(8)).isEqualTo(1L << 40);
        assertThat(remote.buffer().getLong(8)).isEqualTo(1L << 40);
    }

    @Test
    void gather() {
        local.with(content);
        chain.write(1, local.at(5000), 100, local.localKey(), remote.at(0), remote.remoteKey(), true)
                .andLocal(local.at(100), 200, local.localKey())
                .andLocal(local.at(9000), 300, local.localKey());
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        loopback.awaitArrival(local, remote);
        byte[] expected = new byte[600];
        System.arraycopy(content, 5000, expected, 0, 100);
        System.arraycopy(content, 100, expected, 100, 200);
        System.arraycopy(content, 9000, expected, 300, 300);
        assertThat(remote.bytes(600)).isEqualTo(expected);
    }

    @Test
    void scatter() {
        loopback.device.assume(loopback.context.limits().maxPiecesOfRead() >= 3, "READs into several pieces");
        remote.with(content);
        chain.read(1, local.at(5000), 100, local.localKey(), remote.at(0), remote.remoteKey(), true)
                .andLocal(local.at(100), 200, local.localKey())
                .andLocal(local.at(9000), 300, local.localKey());
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        byte[] seen = new byte[600];
        local.buffer().getBytes(5000, seen, 0, 100);
        local.buffer().getBytes(100, seen, 100, 200);
        local.buffer().getBytes(9000, seen, 300, 300);
        byte[] expected = new byte[600];
        System.arraycopy(content, 0, expected, 0, 600);
        assertThat(seen).isEqualTo(expected);
    }

    @Test
    void chainWithOneDoorbellAndSelectiveSignalling() {
        remote.with(content);
        for (int i = 0; i < 10; i++) {
            chain.read(i, local.at(i * 1000L), 1000, local.localKey(), remote.at(i * 1000L), remote.remoteKey(), false);
        }
        chain.signaled();
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 9);
        assertThat(local.bytes(LENGTH)).isEqualTo(content);
        try (WorkCompletions more = new WorkCompletions(4)) {
            assertThat(loopback.clientQueue.poll(more)).isZero();
        }
    }

    @Test
    void fencedSendComesAfterTheReadBeforeIt() {
        receive(7, LENGTH);
        remote.with(SMALL);
        chain.read(1, local.at(0), SMALL.length, local.localKey(), remote.at(0), remote.remoteKey(), false)
                .send(2, local.at(0), SMALL.length, local.localKey(), true)
                .fenced();
        post();
        Loopback.awaitSuccess(loopback.clientQueue, 2);
        assertReceived(7, SMALL.length, false);
        assertThat(remote.bytes(SMALL.length)).isEqualTo(SMALL);
    }

    @Test
    void fullQueueTakesFewer() {
        SendRequests many = new SendRequests(4096, 1);
        try (many) {
            for (int i = 0; i < 4096; i++) {
                many.read(i, local.at(0), LENGTH, local.localKey(), remote.at(0), remote.remoteKey(), false);
            }
            int taken = loopback.client.post(many);
            assertThat(taken).isGreaterThanOrEqualTo(Loopback.SIZES.sends()).isLessThan(4096);
        }
    }
}
