// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Messages name the call with its arguments, the errno by name and number, and the remedy. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ErrorMessageTest {
    private static final QueueSizes SIZES = new QueueSizes(1 << 20, 4, 1, 0);

    private final FakeDevice device = new FakeDevice();
    private final Context context = device.open();
    private final ProtectionDomain domain = context.allocateProtectionDomain();

    @AfterEach
    void close() {
        context.close();
        assertThat(device.violations()).isEmpty();
        device.close();
    }

    private static AbstractThrowableAssert<?, ?> assertFails(ThrowingCallable call, Errno errno) {
        return assertThatThrownBy(call)
                .isInstanceOf(NativeException.class)
                .hasMessageContaining(": " + errno.name() + " (" + errno.number() + ") ")
                .satisfies(e -> assertThat(((NativeException) e).errno()).isEqualTo(errno.number()));
    }

    @Test
    void registrationNamesTheLimitOfLockedMemory() {
        device.fail("ibv_reg_mr", Errno.ENOMEM);
        assertFails(
                        () -> domain.registerMemory(4096, 1 << 30, EnumSet.of(Access.LOCAL_WRITE, Access.REMOTE_READ)),
                        Errno.ENOMEM)
                .hasMessageContaining(
                        "ibv_reg_mr(length=1073741824, access=[LOCAL_WRITE, REMOTE_READ]) on fake0: ENOMEM (12)")
                .hasMessageMatching(".*; raise RLIMIT_MEMLOCK \\(ulimit -l, now (\\d+ bytes|unlimited bytes)\\)");
    }

    @Test
    void librariesThatLackFunctionsAreNamedWithThem() {
        assertThatThrownBy(() ->
                        VerbsLibrary.requireComplete("librdmacm.so.1", List.of("rdma_establish", "rdma_init_qp_attr")))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessage("librdmacm.so.1 lacks rdma_establish, rdma_init_qp_attr; install rdma-core 23 or newer");
        assertThatNoException()
                .as("rdma-core before 32")
                .isThrownBy(() -> VerbsLibrary.requireComplete("libibverbs.so.1", List.of("_ibv_query_gid_table")));
    }

    @Test
    void queuesNameTheirSizes() {
        device.fail("ibv_create_cq", Errno.EINVAL);
        assertFails(() -> context.createCompletionQueue(1 << 30, null), Errno.EINVAL)
                .hasMessageContaining("ibv_create_cq(fake0, entries=1073741824, vector=0)")
                .hasMessageContaining("ask for shorter queues");
        device.fail("ibv_create_srq", Errno.EOPNOTSUPP);
        assertFails(() -> domain.createSharedReceiveQueue(5), Errno.EOPNOTSUPP)
                .hasMessageContaining("ibv_create_srq(entries=5) on fake0");
    }

    @Test
    void queuePairsNameTheirSizes() {
        device.fail("ibv_create_qp", Errno.ENOMEM);
        CompletionQueue queue = context.createCompletionQueue(1, null);
        assertFails(() -> domain.createQueuePair(SIZES, queue, queue, null), Errno.ENOMEM)
                .hasMessageContaining("sends=1048576")
                .hasMessageContaining("ask for shorter queues");
    }

    @Test
    void missingRightsNameTheDeviceFiles() {
        device.fail("ibv_alloc_pd", Errno.EACCES);
        assertFails(context::allocateProtectionDomain, Errno.EACCES).hasMessageContaining("/dev/infiniband/uverbs*");
        device.fail("rdma_create_event_channel", Errno.ENODEV);
        assertFails(() -> EventChannel.open(device.library), Errno.ENODEV)
                .hasMessageContaining("load the kernel modules ib_uverbs and rdma_ucm");
    }

    @Test
    void addressesAreNamed() {
        try (EventChannel channel = EventChannel.open(device.library)) {
            CmId id = channel.createId();
            device.fail("rdma_bind_addr", Errno.EADDRNOTAVAIL);
            assertFails(() -> id.bind(new InetSocketAddress("192.0.2.1", 7)), Errno.EADDRNOTAVAIL)
                    .hasMessageContaining("rdma_bind_addr(/192.0.2.1:7)")
                    .hasMessageContaining("use an address of an RDMA device's own port");
            device.fail("rdma_resolve_addr", Errno.ENODEV);
            assertFails(
                            () -> id.resolveAddress(null, new InetSocketAddress("192.0.2.1", 7), Duration.ofSeconds(1)),
                            Errno.ENODEV)
                    .hasMessageContaining("rdma_resolve_addr(null, /192.0.2.1:7)");
            device.fail("rdma_resolve_route", Errno.EINVAL);
            assertFails(() -> id.resolveRoute(Duration.ofSeconds(1)), Errno.EINVAL);
            device.fail("rdma_create_id", Errno.EMFILE);
            assertFails(channel::createId, Errno.EMFILE).hasMessageContaining("rdma_create_id");
        }
    }

    @Test
    void fullQueueIsNotAnErrorButMalformedIs() {
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        try (SendRequests chain = new SendRequests(2, 1);
                ReceiveRequests receives = new ReceiveRequests(1)) {
            chain.send(1, 0, 0, 0, true).send(2, 0, 0, 0, true);
            receives.add(1, 0, 0, 0);
            assertThat(pair.post(chain)).isEqualTo(2);
            device.failPost(Errno.ENOMEM.number());
            assertThat(pair.post(chain)).isZero();
            assertThat(pair.post(receives)).isZero();
            device.failPost(Errno.EINVAL.number());
            assertFails(() -> pair.post(chain), Errno.EINVAL)
                    .hasMessageContaining("post of request 0 of 2 to queue pair");
            assertFails(() -> pair.post(receives), Errno.EINVAL);
        }
    }

    /** As that of siw. */
    @Test
    void providersOfNegativeErrnosAreUnderstood() {
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(1);
        try (SendRequests chain = new SendRequests(2, 1);
                ReceiveRequests receives = new ReceiveRequests(1)) {
            chain.send(1, 0, 0, 0, true).send(2, 0, 0, 0, true);
            receives.add(1, 0, 0, 0);
            device.failPost(-Errno.ENOMEM.number());
            assertThat(pair.post(chain)).isZero();
            assertThat(pair.post(receives)).isZero();
            assertThat(shared.post(receives)).isZero();
            device.failPost(-Errno.EINVAL.number());
            assertFails(() -> pair.post(chain), Errno.EINVAL).hasMessageContaining("post of request 0 of 2 to ");
            assertFails(() -> shared.post(receives), Errno.EINVAL);
            device.failPost(-1);
            assertFails(() -> pair.post(chain), Errno.EIO);
        }
    }

    /** As that of siw, once it has told the kernel of the requests that fit. */
    @Test
    void refusedRequestCountsWithoutAnError() {
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueuePair pair = domain.createQueuePair(SIZES, queue, queue, null);
        try (SendRequests chain = new SendRequests(3, 1)) {
            chain.send(1, 0, 0, 0, true).send(2, 0, 0, 0, true).send(3, 0, 0, 0, true);
            device.answer("ibv_post_send", arguments -> {
                long second = RawMemory.getLong((Long) arguments[1] + ibv_send_wr.next);
                RawMemory.putLong((Long) arguments[2], second);
                return 0;
            });
            assertThat(pair.post(chain)).isEqualTo(1);
            device.answer("ibv_post_send", arguments -> 0);
            assertThat(pair.post(chain))
                    .as("nothing is left of the call before")
                    .isEqualTo(3);
            device.answer("ibv_post_send", arguments -> -Errno.EINVAL.number());
            assertFails(() -> pair.post(chain), Errno.EINVAL).hasMessageContaining("post of 3 requests to queue pair");
        }
    }

    @Test
    void workFailureNamesOperationPeerStatusAndAdvice() {
        assertThat(new WorkFailedException(
                        "READ of 4096 bytes", "/10.0.0.2:7", CompletionStatus.REMOTE_ACCESS_ERROR, 136))
                .hasMessage("READ of 4096 bytes, peer /10.0.0.2:7: REMOTE_ACCESS_ERROR (vendor error 136);"
                        + " the peer's region is not registered under that rkey, is shorter, or lacks the right");
    }
}
