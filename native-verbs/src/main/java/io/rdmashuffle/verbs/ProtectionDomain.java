// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_ah_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_mr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_init_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_srq_init_attr;
import io.rdmashuffle.ffi.RawMemory;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A set of regions and queue pairs that may work together.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> child of its {@link Context}; owns regions, windows, queue pairs, shared receive queues
 * and address handles.
 *
 * <p><b>Source:</b> ibv_alloc_pd(3), ibv_reg_mr(3), ibv_create_qp(3), ibv_create_srq(3), ibv_alloc_mw(3),
 * ibv_create_ah(3).
 */
public final class ProtectionDomain extends NativeResource {
    private final Context context;
    private final DeviceCalls calls;

    ProtectionDomain(Context context, DeviceCalls calls, long handle) {
        super("protection domain of " + calls.deviceName(), handle, context);
        this.context = context;
        this.calls = calls;
    }

    /** {@return the context of the device} */
    public Context context() {
        return context;
    }

    /**
     * Registers memory, which pins it unless {@link Access#ON_DEMAND} is among the rights. The caller keeps it mapped
     * until the region is closed.
     *
     * @param address first byte
     * @param lengthBytes length, at least 1
     * @param rights what this process and its peers may do
     * @return a child of this domain
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM: the limit of locked memory is too low, or the device is full
     */
    public MemoryRegion registerMemory(long address, long lengthBytes, Set<Access> rights) {
        long domain = enter();
        try {
            long region = NativeResult.checkPointer(
                    calls.verbs().ibv_reg_mr(domain, address, lengthBytes, Access.flags(rights)),
                    () -> "ibv_reg_mr(length=" + lengthBytes + ", access=" + rights + ") on " + calls.deviceName());
            return new MemoryRegion(
                            this,
                            calls,
                            region,
                            address,
                            lengthBytes,
                            RawMemory.getInt(region + ibv_mr.lkey),
                            RawMemory.getInt(region + ibv_mr.rkey))
                    .adoptedBy(MemoryRegion.class);
        } finally {
            exit();
        }
    }

    /**
     * Allocates a window: a part of a region under an rkey of its own, which can be taken back.
     *
     * @param type how it is bound
     * @return a child of this domain
     * @throws io.rdmashuffle.ffi.NativeException EOPNOTSUPP: the device has no windows of this type
     */
    public MemoryWindow allocateMemoryWindow(MemoryWindow.Type type) {
        long domain = enter();
        try {
            long window = NativeResult.checkPointer(
                    calls.operations().ibv_alloc_mw(domain, type.number()),
                    () -> "ibv_alloc_mw(" + type + ") on " + calls.deviceName());
            return new MemoryWindow(this, calls, window, type).adoptedBy(MemoryWindow.class);
        } finally {
            exit();
        }
    }

    /**
     * Creates a receive queue that many queue pairs take from.
     *
     * @param entries most receives posted
     * @return a child of this domain
     * @throws io.rdmashuffle.ffi.NativeException EOPNOTSUPP: the device has no shared receive queues
     */
    public SharedReceiveQueue createSharedReceiveQueue(int entries) {
        long domain = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_srq_init_attr.SIZEOF)) {
            attributes.putInt(ibv_srq_init_attr.attr__max_wr, entries);
            attributes.putInt(ibv_srq_init_attr.attr__max_sge, 1);
            long queue = NativeResult.checkPointer(
                    calls.verbs().ibv_create_srq(domain, attributes.address()),
                    () -> "ibv_create_srq(entries=" + entries + ") on " + calls.deviceName());
            return new SharedReceiveQueue(this, calls, queue).adoptedBy(SharedReceiveQueue.class);
        } finally {
            exit();
        }
    }

    /**
     * Creates a reliable connected queue pair in state RESET.
     *
     * @param sizes lengths of its queues
     * @param sends receives the completions of sends, READs and WRITEs
     * @param receives receives the completions of receives; may be the same queue
     * @param shared provides its receives, null for a receive queue of its own
     * @return a child of this domain and of the queues
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM, EINVAL: larger than the device allows
     */
    public QueuePair createQueuePair(
            QueueSizes sizes, CompletionQueue sends, CompletionQueue receives, @Nullable SharedReceiveQueue shared) {
        return createQueuePair(QueuePair.Service.RELIABLE_CONNECTION, sizes, sends, receives, shared);
    }

    /**
     * Creates a queue pair in state RESET.
     *
     * @param service connection or datagrams
     * @param sizes lengths of its queues
     * @param sends receives the completions of sends, READs and WRITEs
     * @param receives receives the completions of receives; may be the same queue
     * @param shared provides its receives, null for a receive queue of its own
     * @return a child of this domain and of the queues
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM, EINVAL: larger than the device allows; EOPNOTSUPP and EINVAL
     *     also where it has no such service
     */
    public QueuePair createQueuePair(
            QueuePair.Service service,
            QueueSizes sizes,
            CompletionQueue sends,
            CompletionQueue receives,
            @Nullable SharedReceiveQueue shared) {
        try (InUse inUse = InUse.of(this, sends, receives, shared);
                NativeBuffer attributes = new NativeBuffer(ibv_qp_init_attr.SIZEOF)) {
            attributes.putLong(ibv_qp_init_attr.send_cq, inUse.handle(sends));
            attributes.putLong(ibv_qp_init_attr.recv_cq, inUse.handle(receives));
            attributes.putLong(ibv_qp_init_attr.srq, inUse.handle(shared));
            attributes.putInt(ibv_qp_init_attr.cap__max_send_wr, sizes.sends());
            attributes.putInt(ibv_qp_init_attr.cap__max_recv_wr, shared == null ? sizes.receives() : 0);
            attributes.putInt(ibv_qp_init_attr.cap__max_send_sge, sizes.piecesPerRequest());
            attributes.putInt(ibv_qp_init_attr.cap__max_recv_sge, shared == null ? 1 : 0);
            attributes.putInt(ibv_qp_init_attr.cap__max_inline_data, sizes.inlineBytes());
            attributes.putInt(ibv_qp_init_attr.qp_type, service.number());
            long pair = NativeResult.checkPointer(
                    calls.verbs().ibv_create_qp(inUse.handle(this), attributes.address()),
                    () -> "ibv_create_qp(" + service + ", " + sizes + ") on " + calls.deviceName());
            int inlineBytes = attributes.getInt(ibv_qp_init_attr.cap__max_inline_data);
            return QueuePair.created(this, calls, pair, inlineBytes, sends, receives, shared);
        }
    }

    /**
     * Creates the way to a peer's port, for datagrams.
     *
     * @param attributes this side's port and path
     * @param peer what the peer told; LID and GID are used
     * @return a child of this domain
     * @throws io.rdmashuffle.ffi.NativeException EINVAL, ETIMEDOUT, ENETUNREACH and others: no such GID, or on RoCE no
     *     neighbour with that address
     */
    public AddressHandle createAddressHandle(PairAttributes attributes, PairAddress peer) {
        long domain = enter();
        try (NativeBuffer vector = new NativeBuffer(ibv_ah_attr.SIZEOF)) {
            AddressVector.put(vector, 0, attributes, peer);
            long handle = NativeResult.checkPointer(
                    calls.verbs().ibv_create_ah(domain, vector.address()),
                    () -> "ibv_create_ah(" + peer + ") on " + calls.deviceName());
            return new AddressHandle(this, calls, handle).adoptedBy(AddressHandle.class);
        } finally {
            exit();
        }
    }

    /**
     * Creates the way back to the sender of a datagram, whose queue pair is
     * {@link WorkCompletions#sourceQueuePair(int)}.
     *
     * @param completions with the completion of the receive
     * @param index from 0 to {@link WorkCompletions#count()} - 1
     * @param received address of the received bytes, which begin with the route header of 40 bytes
     * @param port that it came in at, counted from 1
     * @return a child of this domain
     */
    public AddressHandle createAddressHandle(WorkCompletions completions, int index, long received, int port) {
        long domain = enter();
        try {
            long handle = NativeResult.checkPointer(
                    calls.verbs().ibv_create_ah_from_wc(domain, completions.at(index), received, port),
                    () -> "ibv_create_ah_from_wc(port=" + port + ") on " + calls.deviceName());
            return new AddressHandle(this, calls, handle).adoptedBy(AddressHandle.class);
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(
                calls.verbs().ibv_dealloc_pd(handle), () -> "ibv_dealloc_pd() on " + calls.deviceName());
    }
}
