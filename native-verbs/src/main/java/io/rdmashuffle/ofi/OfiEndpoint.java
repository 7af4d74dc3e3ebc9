// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibFabric;
import io.rdmashuffle.ffi.LibFabricConstants;
import io.rdmashuffle.ffi.LibFabricLayout.fi_av_attr;
import io.rdmashuffle.ffi.LibFabricLayout.fi_context2;
import io.rdmashuffle.ffi.LibFabricLayout.fi_cq_attr;
import io.rdmashuffle.ffi.LibFabricLayout.fi_cq_err_entry;
import io.rdmashuffle.ffi.LibFabricLayout.fi_cq_msg_entry;
import io.rdmashuffle.ffi.LibFabricLayout.fi_info;
import io.rdmashuffle.ffi.LibFabricLayout.fi_mr_attr;
import io.rdmashuffle.ffi.LibFabricLayout.fi_msg;
import io.rdmashuffle.ffi.LibFabricLayout.fi_msg_rma;
import io.rdmashuffle.ffi.LibFabricLayout.fi_rma_iov;
import io.rdmashuffle.ffi.LibFabricLayout.fid_mr;
import io.rdmashuffle.ffi.LibFabricLayout.iovec;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Endpoint that reads the memory of any number of peers, and exchanges short messages with them, without connections.
 *
 * <p>An operation has a slot, a number from 0 up, which it occupies until it completes: its memory belongs to the
 * provider until then, and so does the target of a read. Operations complete in any order.
 *
 * <p>Progress is manual: nothing happens, also to reads of this memory by peers, unless a thread calls {@link #poll}
 * again and again.
 *
 * <p><b>Threading:</b> one thread posts, polls and waits; registration is thread-safe.
 *
 * <p><b>Ownership:</b> owns fabric, domain, queue and addresses. Its opener closes it, when no thread is in a call,
 * after all regions. After close no operation completes, and none writes any more.
 *
 * <p><b>Source:</b> fi_endpoint(3), fi_rma(3), fi_msg(3), fi_cq(3), fi_av(3).
 */
public final class OfiEndpoint implements AutoCloseable {
    private static final int MAX_NAME_BYTES = 512;
    private static final int MAX_KEY_ATTEMPTS = 16;
    private static final int ENOKEY = 126;
    private static final int POLLED = 64;

    /** An operation: what the provider uses of it, its request, and what the request points to. */
    private static final int SLOT_BYTES = 256;

    private static final int REQUEST = fi_context2.SIZEOF;
    private static final int LOCAL = REQUEST + fi_msg_rma.SIZEOF;
    private static final int REMOTE = LOCAL + iovec.SIZEOF;
    private static final int DESCRIPTOR = REMOTE + fi_rma_iov.SIZEOF;

    private final OfiDevice device;
    private final LibFabric functions;
    private final boolean describesLocal;
    private final boolean countsFromZero;
    private final boolean providesKeys;
    private final boolean bindsRegions;
    private final int keyBytes;
    private final int slots;
    /** What close closes, in reverse order. */
    private final List<Long> opened = new ArrayList<>();

    private final NativeBuffer operations;
    private final NativeBuffer entries = new NativeBuffer((long) POLLED * fi_cq_msg_entry.SIZEOF);
    private final NativeBuffer failure = new NativeBuffer(fi_cq_err_entry.ROOM);
    private final NativeBuffer pointer = new NativeBuffer(Long.BYTES);
    private long fabric;
    private long domain;
    private long queue;
    private long addresses;
    private long endpoint;
    private int descriptor = -1;
    private boolean closed;

    /** Listener of completions; called by {@link #poll}. */
    public interface Listener {
        /**
         * An operation has succeeded.
         *
         * @param slot of the operation, which is free now
         * @param length bytes of a message that has arrived
         */
        void completed(int slot, int length);

        /**
         * An operation has failed; nothing writes to its target any more.
         *
         * @param slot of the operation, which is free now
         * @param error number of libfabric, positive
         * @param reason in the words of library and provider
         */
        void failed(int slot, int error, String reason);
    }

    private OfiEndpoint(OfiDevice device, int slots) {
        this.device = device;
        this.functions = device.functions();
        this.describesLocal = device.has(LibFabricConstants.FI_MR_LOCAL);
        this.countsFromZero = !device.has(LibFabricConstants.FI_MR_VIRT_ADDR);
        this.providesKeys = device.has(LibFabricConstants.FI_MR_PROV_KEY);
        this.bindsRegions = device.has(LibFabricConstants.FI_MR_ENDPOINT);
        this.keyBytes = device.keyBytes();
        this.slots = slots;
        this.operations = new NativeBuffer((long) slots * SLOT_BYTES);
    }

    /**
     * Opens an endpoint.
     *
     * @param slots operations that may be under way at once
     * @throws NativeException if the provider refuses
     * @throws RdmaUnavailableException if it takes a signal from the JVM
     */
    public static OfiEndpoint open(OfiDevice device, int slots) throws RdmaUnavailableException {
        OfiEndpoint opened = new OfiEndpoint(device, slots);
        try {
            return OfiLibrary.guarded(() -> {
                opened.openAll();
                return opened;
            });
        } catch (Throwable failure) {
            opened.close();
            throw failure;
        }
    }

    private void openAll() {
        long info = device.info();
        fabric = open(
                "fi_fabric()", functions.fi_fabric(RawMemory.getLong(info + fi_info.fabric_attr), pointer.address()));
        domain = open("fi_domain()", functions.fi_domain(fabric, info, pointer.address()));
        try (NativeBuffer attributes = new NativeBuffer(fi_av_attr.SIZEOF)) {
            attributes.putInt(fi_av_attr.type, LibFabricConstants.FI_AV_UNSPEC);
            addresses = open("fi_av_open()", functions.fi_av_open(domain, attributes.address(), pointer.address()));
        }
        queue = openQueue();
        endpoint = open("fi_endpoint()", functions.fi_endpoint(domain, info, pointer.address()));
        check("fi_ep_bind() of addresses", functions.fi_bind(endpoint, addresses, 0));
        check(
                "fi_ep_bind() of the queue",
                functions.fi_bind(endpoint, queue, LibFabricConstants.FI_TRANSMIT | LibFabricConstants.FI_RECV));
        check("fi_enable()", functions.fi_control(endpoint, LibFabricConstants.FI_ENABLE, 0));
    }

    /** With a descriptor to wait on, where the provider has one. */
    private long openQueue() {
        try (NativeBuffer attributes = new NativeBuffer(fi_cq_attr.SIZEOF)) {
            attributes.putLong(fi_cq_attr.size, slots);
            attributes.putInt(fi_cq_attr.format, LibFabricConstants.FI_CQ_FORMAT_MSG);
            attributes.putInt(fi_cq_attr.wait_obj, LibFabricConstants.FI_WAIT_FD);
            if (functions.fi_cq_open(domain, attributes.address(), pointer.address()) == 0) {
                long withWait = adopt();
                pointer.clear();
                if (functions.fi_control(withWait, LibFabricConstants.FI_GETWAIT, pointer.address()) == 0) {
                    descriptor = pointer.getInt(0);
                }
                return withWait;
            }
            attributes.putInt(fi_cq_attr.wait_obj, LibFabricConstants.FI_WAIT_NONE);
            return open("fi_cq_open()", functions.fi_cq_open(domain, attributes.address(), pointer.address()));
        }
    }

    private long open(String call, int result) {
        check(call, result);
        return adopt();
    }

    private long adopt() {
        long object = pointer.getLong(0);
        opened.add(object);
        return object;
    }

    private void check(String call, int result) {
        if (result < 0) {
            throw failed(call, -result);
        }
    }

    private NativeException failed(String call, int error) {
        // Numbers of its own are unknown to the C library.
        String own = error < LibFabricConstants.FI_EOTHER ? "" : functions.fi_strerror(error);
        return new NativeException(call + " on " + device, error, own);
    }

    /** {@return the descriptor that becomes readable when there may be something to poll; -1 if there is none} */
    public int waitDescriptor() {
        return descriptor;
    }

    /** {@return whether a wait on the descriptor may begin now; if not, {@link #poll} comes first} */
    public boolean mayWait() {
        pointer.putLong(0, queue);
        return functions.fi_trywait(fabric, pointer.address(), 1) == 0;
    }

    /** {@return the address by which peers insert this endpoint} */
    public byte[] name() {
        try (NativeBuffer name = new NativeBuffer(MAX_NAME_BYTES);
                NativeBuffer length = new NativeBuffer(Long.BYTES)) {
            length.putLong(0, MAX_NAME_BYTES);
            check("fi_getname()", functions.fi_getname(endpoint, name.address(), length.address()));
            byte[] bytes = new byte[Math.toIntExact(length.getLong(0))];
            name.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    /**
     * Adds a peer.
     *
     * @param name of its endpoint
     * @return how operations name it
     * @throws NativeException if it is no address of this provider
     */
    public long insert(byte[] name) {
        try (NativeBuffer bytes = new NativeBuffer(MAX_NAME_BYTES);
                NativeBuffer result = new NativeBuffer(Long.BYTES)) {
            // The provider reads as many bytes as its addresses have.
            bytes.putBytes(0, name, 0, name.length);
            int added = functions.fi_av_insert(addresses, bytes.address(), 1, result.address());
            if (added != 1) {
                throw failed("fi_av_insert()", added < 0 ? -added : Errno.EINVAL.number());
            }
            return result.getLong(0);
        }
    }

    /** Removes a peer to which no operation is under way. */
    public void remove(long peer) {
        try (NativeBuffer address = new NativeBuffer(Long.BYTES)) {
            address.putLong(0, peer);
            check("fi_av_remove()", functions.fi_av_remove(addresses, address.address(), 1));
        }
    }

    /**
     * Registers memory that operations of this endpoint use.
     *
     * @throws NativeException if the provider refuses, for example more than it can pin
     */
    public OfiRegion registerLocal(long address, long lengthBytes) {
        return describesLocal
                ? register(
                        address,
                        lengthBytes,
                        LibFabricConstants.FI_READ | LibFabricConstants.FI_SEND | LibFabricConstants.FI_RECV)
                : new OfiRegion(() -> {}, 0, lengthBytes, 0, 0);
    }

    /**
     * Registers memory that peers read; under another key each time.
     *
     * @throws NativeException if the provider refuses, for example more than it can pin
     */
    public OfiRegion registerRemote(long address, long lengthBytes) {
        return register(address, lengthBytes, LibFabricConstants.FI_REMOTE_READ);
    }

    /** {@return how many times the pages of memory are pinned that both are} */
    public int pinnings() {
        return describesLocal ? 2 : 1;
    }

    private OfiRegion register(long address, long lengthBytes, long access) {
        try (NativeBuffer local = new NativeBuffer(iovec.SIZEOF);
                NativeBuffer attributes = new NativeBuffer(fi_mr_attr.ROOM);
                NativeBuffer result = new NativeBuffer(Long.BYTES)) {
            local.putLong(iovec.iov_base, address);
            local.putLong(iovec.iov_len, lengthBytes);
            attributes.putLong(fi_mr_attr.mr_iov, local.address());
            attributes.putLong(fi_mr_attr.iov_count, 1);
            attributes.putLong(fi_mr_attr.access, access);
            int error = -ENOKEY;
            for (int attempt = 0; attempt < MAX_KEY_ATTEMPTS && error == -ENOKEY; attempt++) {
                attributes.putLong(fi_mr_attr.requested_key, providesKeys ? 0 : randomKey());
                error = functions.fi_mr_regattr(domain, attributes.address(), 0, result.address());
            }
            check("fi_mr_regattr(length=" + lengthBytes + ")", error);
            return bound(result.getLong(0), address, lengthBytes);
        }
    }

    private OfiRegion bound(long handle, long address, long lengthBytes) {
        try {
            if (bindsRegions) {
                check("fi_mr_bind()", functions.fi_bind(handle, endpoint, 0));
                check("fi_mr_enable()", functions.fi_control(handle, LibFabricConstants.FI_ENABLE, 0));
            }
        } catch (Throwable failure) {
            functions.fi_close(handle);
            throw failure;
        }
        return new OfiRegion(
                () -> closeObject(handle, "fi_close() of memory"),
                countsFromZero ? 0 : address,
                lengthBytes,
                RawMemory.getLong(handle + fid_mr.key),
                describesLocal ? RawMemory.getLong(handle + fid_mr.mem_desc) : 0);
    }

    /** So that a key that was taken back is not in use again. */
    private long randomKey() {
        long random = ThreadLocalRandom.current().nextLong();
        return keyBytes == Long.BYTES ? random : random & ((1L << (keyBytes * Byte.SIZE)) - 1);
    }

    /**
     * Starts a read.
     *
     * @param slot free until now
     * @param region that the target lies in
     * @param target address of the first byte that is written
     * @param length bytes, at most {@link OfiDevice#maxReadBytes}
     * @param peer to read from
     * @param remote what the peer calls the first byte
     * @param key of the peer's region
     * @return whether it has begun; if not, the slot is free, and the next {@link #poll} may make room
     * @throws NativeException if the provider refuses; the slot is free
     */
    public boolean read(int slot, OfiRegion region, long target, long length, long peer, long remote, long key) {
        long base = prepare(slot, region, target, length);
        RawMemory.putLong(base + REMOTE + fi_rma_iov.addr, remote);
        RawMemory.putLong(base + REMOTE + fi_rma_iov.len, length);
        RawMemory.putLong(base + REMOTE + fi_rma_iov.key, key);
        long request = base + REQUEST;
        RawMemory.putLong(request + fi_msg_rma.msg_iov, base + LOCAL);
        RawMemory.putLong(request + fi_msg_rma.desc, describesLocal ? base + DESCRIPTOR : 0);
        RawMemory.putLong(request + fi_msg_rma.iov_count, 1);
        RawMemory.putLong(request + fi_msg_rma.addr, peer);
        RawMemory.putLong(request + fi_msg_rma.rma_iov, base + REMOTE);
        RawMemory.putLong(request + fi_msg_rma.rma_iov_count, 1);
        RawMemory.putLong(request + fi_msg_rma.context, base);
        return begun("fi_readmsg()", functions.fi_readmsg(endpoint, request, LibFabricConstants.FI_COMPLETION));
    }

    /**
     * Posts a buffer for a message from any peer.
     *
     * @param slot free until now
     * @return whether it was taken; see {@link #read}
     */
    public boolean receive(int slot, OfiRegion region, long target, int length) {
        long request = message(slot, region, target, length, -1);
        return begun("fi_recvmsg()", functions.fi_recvmsg(endpoint, request, LibFabricConstants.FI_COMPLETION));
    }

    /**
     * Sends a message.
     *
     * @param slot free until now
     * @return whether it has begun; see {@link #read}
     */
    public boolean send(int slot, OfiRegion region, long source, int length, long peer) {
        long request = message(slot, region, source, length, peer);
        return begun("fi_sendmsg()", functions.fi_sendmsg(endpoint, request, LibFabricConstants.FI_COMPLETION));
    }

    private long message(int slot, OfiRegion region, long address, int length, long peer) {
        long base = prepare(slot, region, address, length);
        long request = base + REQUEST;
        RawMemory.putLong(request + fi_msg.msg_iov, base + LOCAL);
        RawMemory.putLong(request + fi_msg.desc, describesLocal ? base + DESCRIPTOR : 0);
        RawMemory.putLong(request + fi_msg.iov_count, 1);
        RawMemory.putLong(request + fi_msg.addr, peer);
        RawMemory.putLong(request + fi_msg.context, base);
        return request;
    }

    private long prepare(int slot, OfiRegion region, long address, long length) {
        long base = operations.address((long) slot * SLOT_BYTES);
        RawMemory.clear(base, SLOT_BYTES);
        RawMemory.putLong(base + LOCAL + iovec.iov_base, address);
        RawMemory.putLong(base + LOCAL + iovec.iov_len, length);
        RawMemory.putLong(base + DESCRIPTOR, region.descriptor());
        return base;
    }

    private boolean begun(String call, int result) {
        if (result == -Errno.EAGAIN.number()) {
            return false;
        }
        check(call, result);
        return true;
    }

    /**
     * Makes progress, and reports operations that have ended.
     *
     * @return how many have
     */
    public int poll(Listener listener) {
        int count = functions.fi_cq_read(queue, entries.address(), POLLED);
        if (count > 0) {
            for (int i = 0; i < count; i++) {
                long entry = entries.address((long) i * fi_cq_msg_entry.SIZEOF);
                listener.completed(slotOf(RawMemory.getLong(entry + fi_cq_msg_entry.op_context)), (int)
                        RawMemory.getLong(entry + fi_cq_msg_entry.len));
            }
            return count;
        }
        if (count == -LibFabricConstants.FI_EAVAIL) {
            return pollFailure(listener);
        }
        if (count != -Errno.EAGAIN.number()) {
            check("fi_cq_read()", count);
        }
        return 0;
    }

    private int pollFailure(Listener listener) {
        failure.clear();
        int count = functions.fi_cq_readerr(queue, failure.address());
        if (count != 1) {
            return 0;
        }
        int error = failure.getInt(fi_cq_err_entry.err);
        String detail = functions.fi_cq_strerror(
                queue, failure.getInt(fi_cq_err_entry.prov_errno), failure.getLong(fi_cq_err_entry.err_data));
        String text = functions.fi_strerror(error);
        long context = failure.getLong(fi_cq_err_entry.op_context);
        if (context != 0) {
            listener.failed(
                    slotOf(context), error, detail.isEmpty() || detail.equals(text) ? text : text + ": " + detail);
        }
        return 1;
    }

    private int slotOf(long context) {
        return (int) ((context - operations.address()) / SLOT_BYTES);
    }

    private void closeObject(long handle, String call) {
        check(call, functions.fi_close(handle));
    }

    @Override
    public String toString() {
        return "endpoint on " + device;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        RuntimeException first = null;
        // The endpoint uses the queue and the addresses.
        for (int i = opened.size() - 1; i >= 0; i--) {
            try {
                closeObject(opened.get(i), "fi_close()");
            } catch (NativeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            // Something may still write to the memory of operations, which is kept.
            throw first;
        }
        operations.close();
        entries.close();
        failure.close();
        pointer.close();
    }
}
