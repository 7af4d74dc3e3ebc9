// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchRuntimeException;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of ownership: closing of children, order, and use after close. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class NativeResourceTest {
    private static final QueueSizes SIZES = new QueueSizes(4, 4, 1, 0);

    private final FakeDevice device = new FakeDevice();

    @AfterEach
    void close() {
        assertThat(device.violations()).isEmpty();
        device.close();
    }

    @Test
    void useAfterCloseThrowsWithTheStackOfTheClose() {
        Context context = device.open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        context.close();
        assertThat(domain.isClosed()).isTrue();
        assertThatThrownBy(() -> domain.registerMemory(0, 1, Set.of()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("protection domain of fake0 is closed")
                .cause()
                .hasMessage("closed here")
                .satisfies(cause -> assertThat(cause.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("useAfterCloseThrowsWithTheStackOfTheClose")));
    }

    /** What a call is given beside its own object may be freed as well. */
    @Test
    void closedHandleIsPassedToNoCall() {
        Context context = device.open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue queue = context.createCompletionQueue(1, null);
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(1);
        MemoryRegion region = domain.registerMemory(0, 1, Set.of());
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.ONE);
        List<String> called = new ArrayList<>();
        for (String function : List.of("ibv_create_qp", "ibv_create_cq", "ibv_bind_mw")) {
            device.answer(function, arguments -> {
                called.add(function);
                return null;
            });
        }
        channel.close();
        shared.close();
        region.close();
        assertThatThrownBy(() -> context.createCompletionQueue(1, channel)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> domain.createQueuePair(SIZES, queue, queue, shared))
                .hasMessageContaining("is closed");
        assertThatThrownBy(() -> window.bind(pair, 1, region, 0, 1, Set.of())).hasMessageContaining("is closed");
        pair.close();
        queue.close();
        assertThatThrownBy(() -> domain.createQueuePair(SIZES, queue, queue, null))
                .hasMessageContaining("is closed");
        assertThatThrownBy(() -> window.bind(pair, 1, region, 0, 1, Set.of())).hasMessageContaining("is closed");
        assertThat(called).isEmpty();
        context.close();
    }

    /** Who is refused because of another object must not keep its own from being closed. */
    @Test
    void refusedAcquireReleasesItsReference() {
        Context context = device.open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        try (EventChannel events = EventChannel.open(device.library)) {
            CmId id = events.createId();
            id.close();
            assertThatThrownBy(() -> pair.initialize(id, Set.of())).hasMessageContaining("is closed");
        }
        pair.close();
        assertThat(device.destructions()).contains("ibv_destroy_qp");
        context.close();
    }

    @Test
    void childrenGoFirstNewestFirstAndOnce() {
        Context context = device.open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        MemoryRegion region = domain.registerMemory(0, 1, Set.of());
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        MemoryRegion early = domain.registerMemory(0, 1, Set.of());
        early.close();
        early.close();
        context.close();
        context.close();
        assertThat(device.destructions())
                .containsExactly(
                        "ibv_dereg_mr",
                        "ibv_destroy_qp",
                        "ibv_destroy_cq",
                        "ibv_dereg_mr",
                        "ibv_dealloc_pd",
                        "ibv_close_device");
        assertThat(List.of(region, pair, queue)).allMatch(NativeResource::isClosed);
    }

    @Test
    void failuresAreCollectedAndTheRestIsClosed() {
        Context context = device.open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        domain.registerMemory(0, 7, Set.of());
        context.createCompletionQueue(1, null);
        device.fail("ibv_destroy_cq", Errno.EBUSY);
        device.fail("ibv_dereg_mr", Errno.EIO);
        RuntimeException failure = catchRuntimeException(context::close);
        assertThat(failure)
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("ibv_destroy_cq()")
                .hasMessageContaining("EBUSY (16)");
        assertThat(failure.getSuppressed()).hasSize(1);
        assertThat(failure.getSuppressed()[0])
                .hasMessageContaining("ibv_dereg_mr() of memory region of 7 bytes on fake0")
                .hasMessageContaining("EIO (5)");
        assertThat(device.destructions()).contains("ibv_dealloc_pd", "ibv_close_device");
    }

    @Test
    void parentWaitsForAChildThatAnotherThreadIsClosing() throws Exception {
        Context context = device.open();
        CompletionQueue queue = context.createCompletionQueue(1, null);
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        device.duringHotCall(() -> {
            inside.countDown();
            awaitUninterruptibly(goOn);
        });
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try (WorkCompletions completions = new WorkCompletions(1)) {
            Future<?> poll = threads.submit(() -> queue.poll(completions));
            inside.await();
            Future<?> child = threads.submit(queue::close);
            while (!queue.isClosed()) {
                Thread.onSpinWait();
            }
            Future<?> parent = threads.submit(context::close);
            Thread.sleep(100);
            assertThat(device.destructions()).isEmpty();
            goOn.countDown();
            poll.get(10, TimeUnit.SECONDS);
            child.get(10, TimeUnit.SECONDS);
            parent.get(10, TimeUnit.SECONDS);
            assertThat(device.destructions()).containsExactly("ibv_destroy_cq", "ibv_close_device");
        } finally {
            threads.shutdownNow();
        }
    }

    /**
     * The race that would be a SIGSEGV: others post and poll while one closes. The fake notes every call that came too
     * late.
     */
    @Test
    void noNativeCallAfterDestroy() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 200; round++) {
                hammerAndClose(threads, round % 2 == 0);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private void hammerAndClose(ExecutorService threads, boolean fromTheTop) throws Exception {
        Context context = device.open();
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = context.allocateProtectionDomain().createQueuePair(SIZES, queue, queue, null);
        CountDownLatch started = new CountDownLatch(3);
        List<Future<?>> users = new ArrayList<>();
        for (int user = 0; user < 3; user++) {
            boolean polls = user == 0;
            users.add(threads.submit(() -> use(polls, pair, queue, started)));
        }
        started.await();
        if (fromTheTop) {
            context.close();
        } else {
            Future<?> other = threads.submit(context::close);
            queue.close();
            pair.close();
            other.get(20, TimeUnit.SECONDS);
        }
        for (Future<?> user : users) {
            user.get(20, TimeUnit.SECONDS);
        }
        context.close();
    }

    private static void use(boolean polls, QueuePair pair, CompletionQueue queue, CountDownLatch started) {
        try (SendRequests chain = new SendRequests(1, 1);
                WorkCompletions completions = new WorkCompletions(1)) {
            chain.send(1, 0, 0, 0, true);
            for (int i = 0; ; i++) {
                if (polls) {
                    queue.poll(completions);
                } else {
                    pair.post(chain);
                }
                if (i == 3) {
                    started.countDown();
                }
            }
        } catch (IllegalStateException e) {
            assertThat(e).hasMessageContaining("is closed");
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}
