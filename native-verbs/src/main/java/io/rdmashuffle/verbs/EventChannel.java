// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_event;
import io.rdmashuffle.ffi.CmLayout.rdma_event_channel;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Channel of the connection events of any number of ids.
 *
 * <p><b>Threading:</b> thread-safe; take events on one thread, which keeps those of each connection in order.
 *
 * <p><b>Ownership:</b> the creator closes it, and with it the ids on it.
 *
 * <p><b>Source:</b> rdma_create_event_channel(3), rdma_get_cm_event(3), rdma_cm(7).
 */
public final class EventChannel extends NativeResource {
    private final VerbsLibrary library;
    private final int descriptor;
    private final Map<Long, CmId> ids = new ConcurrentHashMap<>();

    private EventChannel(VerbsLibrary library, long handle) {
        super("rdma_cm event channel", handle);
        this.library = library;
        this.descriptor = RawMemory.getInt(handle + rdma_event_channel.fd);
        FileDescriptors.makeNonBlocking(descriptor);
    }

    /**
     * Opens a channel.
     *
     * @param library the native functions
     * @return the channel, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException ENODEV, ENOENT: the kernel has no rdma_cm
     */
    public static EventChannel open(VerbsLibrary library) {
        long channel = DeviceSearch.call(() -> NativeResult.checkPointer(
                library.cm().rdma_create_event_channel(), () -> "rdma_create_event_channel()"));
        return new EventChannel(library, channel);
    }

    /** {@return the descriptor that becomes readable when an event arrives; non-blocking, for {@link WaitSet#add}} */
    public int fileDescriptor() {
        return descriptor;
    }

    /**
     * Creates an id for one reliable connection or one listener.
     *
     * @return a child of this channel
     */
    public CmId createId() {
        long channel = enter();
        try (NativeBuffer result = new NativeBuffer(Long.BYTES)) {
            NativeResult.checkSet(
                    library.cm().rdma_create_id(channel, result.address(), 0, CmConstants.RDMA_PS_TCP),
                    () -> "rdma_create_id(RDMA_PS_TCP)");
            return adopt(result.getLong(0));
        } finally {
            exit();
        }
    }

    /**
     * Reads and acknowledges the next event. Events of ids that were closed meanwhile are dropped.
     *
     * @return the event, null if there is none
     * @throws io.rdmashuffle.ffi.NativeException if the channel is broken
     */
    public @Nullable CmEvent nextEvent() {
        long channel = enter();
        try (NativeBuffer result = new NativeBuffer(Long.BYTES)) {
            while (library.cm().rdma_get_cm_event(channel, result.address()) == 0) {
                long event = result.getLong(0);
                CmEvent copied;
                try {
                    copied = copy(event);
                } finally {
                    library.cm().rdma_ack_cm_event(event);
                }
                if (copied != null) {
                    return copied;
                }
            }
            FileDescriptors.checkMerelyEmpty(() -> "rdma_get_cm_event()");
            return null;
        } finally {
            exit();
        }
    }

    /** Copies what must outlive the acknowledgement. */
    private @Nullable CmEvent copy(long event) {
        CmEvent.Type type = CmEvent.Type.of(RawMemory.getInt(event + rdma_cm_event.event));
        long idHandle = RawMemory.getLong(event + rdma_cm_event.id);
        CmId id = type == CmEvent.Type.CONNECT_REQUEST ? adopt(idHandle) : ids.get(idHandle);
        if (id == null) {
            return null;
        }
        int length = Byte.toUnsignedInt(RawMemory.getByte(event + rdma_cm_event.param__conn__private_data_len));
        long data = RawMemory.getLong(event + rdma_cm_event.param__conn__private_data);
        byte[] privateData = new byte[data == 0 ? 0 : length];
        if (privateData.length > 0) {
            RawMemory.getBytes(data, privateData, 0, privateData.length);
        }
        return new CmEvent(
                type,
                id,
                RawMemory.getInt(event + rdma_cm_event.status),
                privateData,
                Byte.toUnsignedInt(RawMemory.getByte(event + rdma_cm_event.param__conn__initiator_depth)),
                Byte.toUnsignedInt(RawMemory.getByte(event + rdma_cm_event.param__conn__responder_resources)),
                RawMemory.getInt(event + rdma_cm_event.param__conn__qp_num));
    }

    private CmId adopt(long idHandle) {
        CmId id = new CmId(this, library, idHandle, this::forgetId).adoptedBy(CmId.class);
        ids.put(idHandle, id);
        return id;
    }

    private void forgetId(long idHandle) {
        ids.remove(idHandle);
    }

    @Override
    void destroy(long handle) {
        library.cm().rdma_destroy_event_channel(handle);
    }
}
