// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of completions and device events. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class CompletionTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Loopback loopback;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory memory;

    private final SendRequests chain = new SendRequests(16, 1);
    private final ReceiveRequests receives = new ReceiveRequests(16);

    @BeforeEach
    void connect() {
        loopback = Loopback.connect(6, true, Loopback.REMOTE);
        memory = Memory.of(loopback.domain, 4096);
    }

    @AfterEach
    void close() {
        chain.close();
        receives.close();
        if (loopback != null) { // null if the test was skipped
            loopback.close();
            memory.close();
        }
    }

    private void read(long id) {
        chain.clear();
        chain.read(id, memory.at(0), 100, memory.localKey(), memory.at(1000), memory.remoteKey(), true);
        assertThat(loopback.client.post(chain)).isEqualTo(1);
    }

    /** Requirement 2: channel event, poll, process, acknowledge, arm again. */
    @Test
    void eventMode() {
        try (WaitSet waits = new WaitSet(1);
                WorkCompletions completions = new WorkCompletions(4)) {
            int number = waits.add(loopback.channel.fileDescriptor());
            loopback.clientQueue.arm();
            loopback.serverQueue.arm();
            assertThat(waits.await(0)).isFalse();
            assertThat(loopback.channel.nextEvent()).isNull();
            for (int round = 0; round < 5; round++) {
                read(round);
                assertThat(waits.await(20 * SECOND)).isTrue();
                assertThat(waits.isReady(number)).isTrue();
                assertThat(loopback.channel.nextEvent()).isSameAs(loopback.clientQueue);
                loopback.clientQueue.arm();
                assertThat(loopback.clientQueue.poll(completions)).isEqualTo(1);
                assertThat(completions.workRequestId(0)).isEqualTo(round);
                assertThat(loopback.clientQueue.poll(completions)).isZero();
            }
        }
    }

    @Test
    void notArmedNothingIsTold() {
        try (WaitSet waits = new WaitSet(1)) {
            waits.add(loopback.channel.fileDescriptor());
            read(1);
            Loopback.awaitSuccess(loopback.clientQueue, 1);
            assertThat(waits.await(SECOND / 10)).isFalse();
        }
    }

    @Test
    void wakeEndsAWait() {
        try (WaitSet waits = new WaitSet(1)) {
            waits.add(loopback.channel.fileDescriptor());
            waits.wake();
            assertThat(waits.await(60 * SECOND)).isTrue();
            assertThat(waits.isReady(0)).isFalse();
            assertThat(waits.await(0)).isFalse();
        }
    }

    @Test
    void sharedReceiveQueue() {
        SharedReceiveQueue shared = loopback.shared;
        if (shared == null) {
            throw new AssertionError("asked for one");
        }
        receives.add(21, memory.at(2000), 100, memory.localKey()).add(22, memory.at(3000), 100, memory.localKey());
        assertThat(shared.post(receives)).isEqualTo(2);
        chain.send(1, memory.at(0), 10, memory.localKey(), true).send(2, memory.at(0), 20, memory.localKey(), true);
        assertThat(loopback.client.post(chain)).isEqualTo(2);
        Loopback.awaitSuccess(loopback.serverQueue, 21);
        Loopback.awaitSuccess(loopback.serverQueue, 22);
        Loopback.awaitSuccess(loopback.clientQueue, 1);
        Loopback.awaitSuccess(loopback.clientQueue, 2);
        try (ReceiveRequests many = new ReceiveRequests(1000)) {
            for (int i = 0; i < 1000; i++) {
                many.add(i, memory.at(0), 10, memory.localKey());
            }
            assertThat(shared.post(many)).as("a full queue takes fewer").isBetween(16, 999);
        }
    }

    @Test
    void failFlushesWhatIsOutstanding() {
        receives.add(31, memory.at(0), 10, memory.localKey()).add(32, memory.at(0), 10, memory.localKey());
        assertThat(loopback.client.post(receives)).isEqualTo(2);
        loopback.client.fail();
        Loopback.assertState(loopback.device, loopback.client, QueuePair.State.ERROR);
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 31)).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 32)).isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void requestsOnAFailedQueuePairAreFlushed() {
        loopback.device.assume(!loopback.device.isOf("siw"), "flushes of requests posted to a queue pair in error");
        loopback.client.fail();
        chain.send(33, memory.at(0), 10, memory.localKey(), false);
        assertThat(loopback.client.post(chain)).isEqualTo(1);
        assertThat(Loopback.awaitStatus(loopback.clientQueue, 33))
                .as("failures complete also without a signal")
                .isEqualTo(CompletionStatus.WORK_REQUEST_FLUSHED);
    }

    /** A new address of the interface under soft-RoCE is a new global identifier, and the device says so. */
    @Test
    void deviceEventIsDelivered() throws Exception {
        String device = loopback.context.deviceName();
        loopback.device.assumeInfiniBand("global identifiers that are the port's addresses");
        loopback.device.assume(loopback.device.isOf("rxe"), "changing addresses for a test");
        Path netdev = Path.of("/sys/class/infiniband", device, "ports/1/gid_attrs/ndevs/0");
        String interfaceName = Files.readString(netdev).strip();
        try (WaitSet waits = new WaitSet(1)) {
            waits.add(loopback.context.asyncFileDescriptor());
            assertThat(loopback.context.nextAsyncEvent()).isNull();
            loopback.device.assume(ip("add", interfaceName), "adding an address as this user");
            assertThat(waits.await(20 * SECOND)).isTrue();
            AsyncEvent event = loopback.context.nextAsyncEvent();
            assertThat(event).isNotNull().satisfies(told -> {
                assertThat(told.type()).isEqualTo(AsyncEvent.Type.GID_CHANGED);
                assertThat(told.description()).isEqualTo("GID table change");
                assertThat(told.portNumber()).isEqualTo(1);
            });
            assertThat(ip("del", interfaceName)).isTrue();
        }
    }

    private static boolean ip(String verb, String interfaceName) throws Exception {
        return new ProcessBuilder("ip", "addr", verb, "192.0.2.77/32", "dev", interfaceName)
                        .start()
                        .waitFor()
                == 0;
    }
}
