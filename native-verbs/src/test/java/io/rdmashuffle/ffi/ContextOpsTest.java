// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import jnr.ffi.LibraryLoader;
import jnr.ffi.types.size_t;
import jnr.ffi.types.uintptr_t;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The inline functions against a context that C code made from the real header, with functions that note their call.
 */
@Tag("abi")
@Timeout(120)
class ContextOpsTest {
    private static final String SOURCE = """
            #include <errno.h>
            #include <string.h>
            #include <infiniband/verbs.h>
            static uint64_t seen[6];
            static struct verbs_context fake;
            uint64_t seen_at(int index) { return seen[index]; }
            static void note(uint64_t which, const void *a, uint64_t b, const void *c, uint64_t d) {
                seen[0] = which; seen[1] = (uint64_t) a; seen[2] = b; seen[3] = (uint64_t) c; seen[4] = d;
            }
            static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc) {
                note(1, cq, (int64_t) n, wc, 0);
                errno = EIO;
                if (n < 0) return -EINVAL;
                wc[n - 1].wr_id = 0xfedcba9876543210UL;
                wc[n - 1].status = IBV_WC_RETRY_EXC_ERR;
                return n;
            }
            static int req_notify_cq(struct ibv_cq *cq, int s) { note(2, cq, s, 0, 0); return EAGAIN; }
            static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
                note(3, qp, (uint64_t) wr, bad, 0); *bad = wr; return ENOMEM;
            }
            static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
                note(4, qp, (uint64_t) wr, bad, 0); return 0;
            }
            static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
                note(5, srq, (uint64_t) wr, bad, 0); return ENOSYS;
            }
            static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type) {
                note(6, pd, type, 0, 0);
                if (type == IBV_MW_TYPE_2) { errno = ENOMEM; return 0; }
                return (struct ibv_mw *) 0xfedcba9876543210UL;
            }
            static int dealloc_mw(struct ibv_mw *mw) { note(7, mw, 0, 0, 0); return EBUSY; }
            static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind) {
                note(8, qp, (uint64_t) mw, bind, 0); return 0;
            }
            static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                                       struct ibv_device_attr_ex *attr, size_t size) {
                note(9, context, (uint64_t) input, attr, size);
                attr->odp_caps.general_caps = IBV_ODP_SUPPORT;
                attr->orig_attr.max_qp = 17;
                return 0;
            }
            static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size) {
                note(10, context, port, attr, size);
                attr->port_cap_flags2 = IBV_PORT_LINK_SPEED_HDR_SUP;
                return 0;
            }
            static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                                 struct ibv_sge *list, uint32_t n) {
                note(11, pd, advice, list, flags); seen[5] = n; return EFAULT;
            }
            void *fake_context(int ops, size_t reach, int extended) {
                memset(&fake, 0, sizeof fake);
                if (ops) {
                    fake.context.ops.poll_cq = poll_cq;
                    fake.context.ops.req_notify_cq = req_notify_cq;
                    fake.context.ops.post_send = post_send;
                    fake.context.ops.post_recv = post_recv;
                    fake.context.ops.post_srq_recv = post_srq_recv;
                    fake.context.ops.alloc_mw = alloc_mw;
                    fake.context.ops.dealloc_mw = dealloc_mw;
                    fake.context.ops.bind_mw = bind_mw;
                    fake.query_device_ex = query_device_ex;
                    fake.query_port = query_port;
                    fake.advise_mr = advise_mr;
                }
                fake.sz = reach;
                fake.context.abi_compat = extended ? __VERBS_ABI_IS_EXTENDED : 0;
                return &fake.context;
            }
            """;

    private static final long CQ = 0x1122334455667788L;
    private static final long QP = 0x8877665544332211L;
    /** How far in front of its end the context reaches; one of a newer rdma-core may reach farther. */
    private static final long REACH = VerbsLayout.verbs_context.SIZEOF;

    @TempDir
    Path directory;

    private final NativeBuffer memory = new NativeBuffer(4096);
    private final long at = memory.address();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Fake fake;

    /** What the C code exports. */
    public interface Fake {
        @uintptr_t
        long fake_context(int ops, @size_t long reach, int extended);

        long seen_at(int index);
    }

    @BeforeEach
    void compile() throws Exception {
        Requirements.verbsHeaders(directory);
        Path library = CCompiler.library(directory, "fake", SOURCE);
        fake = LibraryLoader.create(Fake.class).failImmediately().load(library.toString());
    }

    @AfterEach
    void free() {
        memory.close();
    }

    private void assertCalled(long which, long first, long second, long third) {
        assertThat(new long[] {fake.seen_at(0), fake.seen_at(1), fake.seen_at(2), fake.seen_at(3)})
                .containsExactly(which, first, second, third);
    }

    @Test
    void queuesAreCalledThroughTheContext() {
        ContextOps ops = ContextOps.of(fake.fake_context(1, REACH, 1));
        assertThat(ops.ibv_poll_cq(CQ, 2, at)).isEqualTo(2);
        assertCalled(1, CQ, 2, at);
        assertThat(memory.getLong(VerbsLayout.ibv_wc.SIZEOF + VerbsLayout.ibv_wc.wr_id))
                .isEqualTo(0xFEDCBA9876543210L);
        assertThat(memory.getInt(VerbsLayout.ibv_wc.SIZEOF + VerbsLayout.ibv_wc.status))
                .isEqualTo(VerbsConstants.IBV_WC_RETRY_EXC_ERR);
        assertThat(ops.ibv_poll_cq(CQ, -1, at)).isEqualTo(-Errno.EINVAL.number());
        assertCalled(1, CQ, -1, at);
        assertThat(ops.ibv_req_notify_cq(CQ, 1)).isEqualTo(Errno.EAGAIN.number());
        assertCalled(2, CQ, 1, 0);
        assertThat(ops.ibv_post_send(QP, CQ, at)).isEqualTo(Errno.ENOMEM.number());
        assertCalled(3, QP, CQ, at);
        assertThat(memory.getLong(0)).isEqualTo(CQ);
        assertThat(ops.ibv_post_recv(QP, CQ, at)).isZero();
        assertCalled(4, QP, CQ, at);
        assertThat(ops.ibv_post_srq_recv(QP, CQ, at)).isEqualTo(Errno.ENOSYS.number());
        assertCalled(5, QP, CQ, at);
    }

    @Test
    void memoryWindowsAreAllocatedAndErrnoSurvivesHotCalls() {
        ContextOps ops = ContextOps.of(fake.fake_context(1, REACH, 1));
        assertThat(ops.ibv_alloc_mw(QP, VerbsConstants.IBV_MW_TYPE_1)).isEqualTo(0xFEDCBA9876543210L);
        assertCalled(6, QP, VerbsConstants.IBV_MW_TYPE_1, 0);
        assertThat(ops.ibv_alloc_mw(QP, VerbsConstants.IBV_MW_TYPE_2)).isZero();
        assertThat(ops.ibv_poll_cq(CQ, 1, at)).isEqualTo(1);
        assertThat(NativeException.lastErrno()).isEqualTo(Errno.ENOMEM.number());
        assertThat(ops.ibv_dealloc_mw(QP)).isEqualTo(Errno.EBUSY.number());
        assertCalled(7, QP, 0, 0);
    }

    @Test
    void aWindowIsBoundOnlyAsTheHeaderAllows() {
        ContextOps ops = ContextOps.of(fake.fake_context(1, REACH, 1));
        long window = at + 512;
        long region = at + 1024;
        RawMemory.putInt(window + VerbsLayout.ibv_mw.type, VerbsConstants.IBV_MW_TYPE_2);
        assertThat(ops.ibv_bind_mw(QP, window, at)).isEqualTo(Errno.EINVAL.number());
        RawMemory.putInt(window + VerbsLayout.ibv_mw.type, VerbsConstants.IBV_MW_TYPE_1);
        assertThat(ops.ibv_bind_mw(QP, window, at)).isZero();
        assertCalled(8, QP, window, at);
        memory.putLong(VerbsLayout.ibv_mw_bind.bind_info__length, 1);
        assertThat(ops.ibv_bind_mw(QP, window, at)).isEqualTo(Errno.EINVAL.number());
        memory.putLong(VerbsLayout.ibv_mw_bind.bind_info__mr, region);
        assertThat(ops.ibv_bind_mw(QP, window, at)).isZero();
        RawMemory.putLong(region + VerbsLayout.ibv_mr.pd, CQ);
        assertThat(ops.ibv_bind_mw(QP, window, at)).isEqualTo(Errno.EPERM.number());
    }

    @Test
    void extendedFunctionsAreFoundInFrontOfTheContext() {
        long context = fake.fake_context(1, REACH, 1);
        assertThat(ContextOps.ibv_query_device_ex(context, 0, at)).isZero();
        assertCalled(9, context, 0, at);
        assertThat(fake.seen_at(4)).isEqualTo(VerbsLayout.ibv_device_attr_ex.SIZEOF);
        assertThat(memory.getLong(VerbsLayout.ibv_device_attr_ex.odp_caps__general_caps))
                .isEqualTo(VerbsConstants.IBV_ODP_SUPPORT);
        assertThat(memory.getInt(VerbsLayout.ibv_device_attr_ex.orig_attr + VerbsLayout.ibv_device_attr.max_qp))
                .isEqualTo(17);
        assertThat(ContextOps.ibv_query_port(context, 200, at)).isZero();
        assertCalled(10, context, 200, at);
        assertThat(memory.getShort(VerbsLayout.ibv_port_attr.port_cap_flags2)).isEqualTo((short) (1 << 5));
        memory.putInt(VerbsLayout.ibv_query_device_ex_input.comp_mask, 1);
        assertThat(ContextOps.ibv_query_device_ex(context, at, at)).isEqualTo(Errno.EINVAL.number());
    }

    @Test
    void adviceIsGivenThroughTheExtendedContext() {
        ContextOps ops = ContextOps.of(fake.fake_context(1, REACH, 1));
        assertThat(ops.ibv_advise_mr(QP, VerbsConstants.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0x80000001, at, 7))
                .isEqualTo(Errno.EFAULT.number());
        assertCalled(11, QP, VerbsConstants.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, at);
        assertThat(fake.seen_at(4)).isEqualTo(0x80000001L);
        assertThat(fake.seen_at(5)).isEqualTo(7);
        long offset = VerbsLayout.verbs_context.advise_mr;
        assertThat(ContextOps.of(fake.fake_context(1, REACH - offset, 1)).ibv_advise_mr(QP, 0, 0, at, 1))
                .isEqualTo(Errno.EFAULT.number());
        assertThat(ContextOps.of(fake.fake_context(1, REACH - offset - 1, 1)).ibv_advise_mr(QP, 0, 0, at, 1))
                .isEqualTo(Errno.EOPNOTSUPP.number());
    }

    @Test
    void absentFunctionIsNotSupported() {
        int missing = Errno.EOPNOTSUPP.number();
        assertThat(ContextOps.ibv_query_device_ex(fake.fake_context(1, REACH, 0), 0, at))
                .isEqualTo(missing);
        // Reaching just as far as the function, and one byte less.
        long offset = VerbsLayout.verbs_context.query_device_ex;
        assertThat(ContextOps.ibv_query_device_ex(fake.fake_context(1, REACH - offset, 1), 0, at))
                .isZero();
        assertThat(ContextOps.ibv_query_device_ex(fake.fake_context(1, REACH - offset - 1, 1), 0, at))
                .isEqualTo(missing);
        long context = fake.fake_context(0, REACH, 1);
        assertThat(ContextOps.ibv_query_device_ex(context, 0, at)).isEqualTo(missing);
        assertThat(ContextOps.ibv_query_port(context, 1, at)).isEqualTo(missing);
        ContextOps ops = ContextOps.of(context);
        assertThat(ops.ibv_poll_cq(CQ, 1, at)).isEqualTo(-missing);
        assertThat(ops.ibv_req_notify_cq(CQ, 0)).isEqualTo(missing);
        assertThat(ops.ibv_post_send(QP, at, at)).isEqualTo(missing);
        assertThat(ops.ibv_dealloc_mw(CQ)).isEqualTo(missing);
        assertThat(ops.ibv_advise_mr(QP, 0, 0, at, 1)).isEqualTo(missing);
        assertThat(ops.ibv_alloc_mw(QP, 1)).isZero();
        assertThat(NativeException.lastErrno()).isEqualTo(missing);
        assertThatThrownBy(() -> ContextOps.of(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void hotCallsLeaveNoGarbage() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        ContextOps ops = ContextOps.of(fake.fake_context(1, REACH, 1));
        int calls = 100_000;
        long allocated = 0;
        for (int round = 0; round < 2; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < calls; i++) {
                ops.ibv_poll_cq(CQ, 1, at);
                ops.ibv_post_send(QP, CQ, at);
                ops.ibv_req_notify_cq(CQ, 0);
            }
            allocated = threads.getCurrentThreadAllocatedBytes() - before;
        }
        assertThat(allocated).isLessThan(calls);
    }
}
