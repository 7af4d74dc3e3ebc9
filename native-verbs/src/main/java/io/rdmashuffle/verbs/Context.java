// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_async_event;
import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An open device.
 *
 * <p><b>Threading:</b> thread-safe, as libibverbs is.
 *
 * <p><b>Ownership:</b> owns everything created from it. A context of a connection id belongs to librdmacm: closing it
 * closes its children and leaves the device open.
 *
 * <p><b>Source:</b> ibv_open_device(3), ibv_query_device(3), ibv_query_port(3), ibv_query_gid_table(3),
 * ibv_query_pkey(3), ibv_get_async_event(3).
 */
public final class Context extends NativeResource {
    private final VerbsLibrary library;
    private final DeviceCalls calls;
    private final String deviceName;
    private final boolean owned;

    private Context(VerbsLibrary library, long handle, String deviceName, boolean owned) {
        super("context of " + deviceName, handle);
        this.library = library;
        this.deviceName = deviceName;
        this.owned = owned;
        this.calls = new DeviceCalls(
                deviceName,
                Transport.ofContext(handle),
                library.verbs(),
                library.cm(),
                library.operations().apply(handle));
    }

    static Context opened(VerbsLibrary library, long handle, String deviceName) {
        return new Context(library, handle, deviceName, true);
    }

    /** Wraps the context that librdmacm opened for a device; it must be closed before the last id on that device. */
    static Context borrowed(VerbsLibrary library, long handle) {
        String name = library.verbs().ibv_get_device_name(RawMemory.getLong(handle + ibv_context.device));
        return new Context(library, handle, name, false);
    }

    /** {@return the kernel's name of the device} */
    public String deviceName() {
        return deviceName;
    }

    /**
     * Queries the limits of the device.
     *
     * @return the limits as the device reports them
     */
    public DeviceLimits limits() {
        long context = enter();
        try {
            return DeviceLimits.query(library, context, deviceName);
        } finally {
            exit();
        }
    }

    /**
     * Queries the identity of the device.
     *
     * @return model, firmware and place as the device and the kernel report them
     */
    public DeviceInfo info() {
        long context = enter();
        try {
            return DeviceInfo.query(library, context, deviceName);
        } finally {
            exit();
        }
    }

    /** {@return the protocol that the device speaks; RoCE counts as InfiniBand, see {@link PortAttributes#ethernet}} */
    public Transport transport() {
        long context = enter();
        try {
            return Transport.ofContext(context);
        } finally {
            exit();
        }
    }

    /**
     * {@return how many completion vectors the device has: interrupts that completion queues can be spread over; at
     * least 1}
     */
    public int completionVectors() {
        long context = enter();
        try {
            return RawMemory.getInt(context + ibv_context.num_comp_vectors);
        } finally {
            exit();
        }
    }

    /**
     * Queries the state of a port.
     *
     * @param number counts from 1
     * @return the state when it was asked for
     * @throws io.rdmashuffle.ffi.NativeException EINVAL: there is no such port
     */
    public PortAttributes port(int number) {
        long context = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_port_attr.SIZEOF)) {
            queryPort(context, number, attributes);
            return PortAttributes.read(number, attributes);
        } finally {
            exit();
        }
    }

    private void queryPort(long context, int number, NativeBuffer attributes) {
        NativeResult.checkReturned(
                library.verbs().ibv_query_port(context, number, attributes.address()),
                () -> "ibv_query_port(" + deviceName + ", port=" + number + ")");
    }

    /**
     * Queries the valid global identifiers of all ports.
     *
     * @return the entries in the order of the device's table
     */
    public List<GidEntry> gids() {
        long context = enter();
        try {
            return GidTable.query(library.verbs(), context, deviceName);
        } finally {
            exit();
        }
    }

    /**
     * Queries the partition keys of a port. On Ethernet there is one, the default partition's.
     *
     * @param port counts from 1
     * @return the keys that are set, in the order of the port's table
     * @throws io.rdmashuffle.ffi.NativeException EINVAL: there is no such port
     */
    public List<PartitionKey> partitionKeys(int port) {
        long context = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_port_attr.SIZEOF);
                NativeBuffer result = new NativeBuffer(Short.BYTES)) {
            queryPort(context, port, attributes);
            int rows = Short.toUnsignedInt(attributes.getShort(ibv_port_attr.pkey_tbl_len));
            List<PartitionKey> keys = new ArrayList<>();
            for (int i = 0; i < rows; i++) {
                int index = i;
                NativeResult.checkSet(
                        library.verbs().ibv_query_pkey(context, port, index, result.address()),
                        () -> "ibv_query_pkey(" + deviceName + ", port=" + port + ", index=" + index + ")");
                int key = Short.toUnsignedInt(Short.reverseBytes(result.getShort(0)));
                if (key != 0) {
                    keys.add(new PartitionKey(port, index, key));
                }
            }
            return keys;
        } finally {
            exit();
        }
    }

    /**
     * Allocates a protection domain. Regions, windows and queue pairs only work together within one.
     *
     * @return a child of this context
     */
    public ProtectionDomain allocateProtectionDomain() {
        long context = enter();
        try {
            long domain = NativeResult.checkPointer(
                    library.verbs().ibv_alloc_pd(context), () -> "ibv_alloc_pd(" + deviceName + ")");
            return new ProtectionDomain(this, calls, domain).adoptedBy(ProtectionDomain.class);
        } finally {
            exit();
        }
    }

    /**
     * Creates a channel for completion events; its descriptor does not block.
     *
     * @return a child of this context
     */
    public CompletionChannel createCompletionChannel() {
        long context = enter();
        try {
            long channel = NativeResult.checkPointer(
                    library.verbs().ibv_create_comp_channel(context),
                    () -> "ibv_create_comp_channel(" + deviceName + ")");
            return new CompletionChannel(this, calls, channel).adoptedBy(CompletionChannel.class);
        } finally {
            exit();
        }
    }

    /**
     * Creates a completion queue on completion vector 0.
     *
     * @param entries minimum number of entries; an overflow breaks the queue
     * @param channel receives events of the armed queue; null if the queue is only polled
     * @return a child of this context and of the channel
     * @throws io.rdmashuffle.ffi.NativeException EINVAL, ENOMEM: more entries than the device has
     */
    public CompletionQueue createCompletionQueue(int entries, @Nullable CompletionChannel channel) {
        return createCompletionQueue(entries, channel, 0);
    }

    /**
     * Creates a completion queue whose events come by an interrupt of the caller's choice. Queues that all have one
     * vector interrupt one processor.
     *
     * @param entries minimum number of entries; an overflow breaks the queue
     * @param channel receives events of the armed queue; null if the queue is only polled
     * @param completionVector from 0 to {@link #completionVectors()} - 1; which processor serves it is the kernel's to
     *     say (/proc/interrupts, /proc/irq/N/smp_affinity)
     * @return a child of this context and of the channel
     * @throws io.rdmashuffle.ffi.NativeException EINVAL, ENOMEM: more entries than the device has, or no such vector
     */
    public CompletionQueue createCompletionQueue(
            int entries, @Nullable CompletionChannel channel, int completionVector) {
        try (InUse inUse = InUse.of(this, channel)) {
            long context = inUse.handle(this);
            long channelHandle = inUse.handle(channel);
            long queue = NativeResult.checkPointer(
                    library.verbs().ibv_create_cq(context, entries, 0, channelHandle, completionVector),
                    () -> "ibv_create_cq(" + deviceName + ", entries=" + entries + ", vector=" + completionVector
                            + ")");
            if (channel == null) {
                return new CompletionQueue(calls, queue, closed -> {}, this).adoptedBy(CompletionQueue.class);
            }
            CompletionQueue created =
                    new CompletionQueue(calls, queue, channel::detach, this, channel).adoptedBy(CompletionQueue.class);
            channel.attach(created);
            return created;
        }
    }

    /**
     * {@return the file descriptor that becomes readable when a device event arrives; the first call makes it
     * non-blocking}
     */
    public int asyncFileDescriptor() {
        long context = enter();
        try {
            int descriptor = RawMemory.getInt(context + ibv_context.async_fd);
            FileDescriptors.makeNonBlocking(descriptor);
            return descriptor;
        } finally {
            exit();
        }
    }

    /**
     * Reads and acknowledges the next device event; does not block if {@link #asyncFileDescriptor()} was called before.
     *
     * @return the event, null if there is none
     */
    public @Nullable AsyncEvent nextAsyncEvent() {
        long context = enter();
        try (NativeBuffer event = new NativeBuffer(ibv_async_event.SIZEOF)) {
            if (library.verbs().ibv_get_async_event(context, event.address()) != 0) {
                return null;
            }
            int type = event.getInt(ibv_async_event.event_type);
            AsyncEvent copied = new AsyncEvent(
                    AsyncEvent.Type.of(type),
                    library.verbs().ibv_event_type_str(type),
                    event.getLong(ibv_async_event.element__qp),
                    event.getInt(ibv_async_event.element__port_num));
            library.verbs().ibv_ack_async_event(event.address());
            return copied;
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        if (owned) {
            NativeResult.checkReturned(
                    library.verbs().ibv_close_device(handle), () -> "ibv_close_device(" + deviceName + ")");
        }
    }
}
