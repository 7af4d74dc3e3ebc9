// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_id;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The identity of one connection, or of a listener.
 *
 * <p>Client: {@link #resolveAddress}, ADDRESS_RESOLVED, {@link #resolveRoute}, ROUTE_RESOLVED, queue pair to INIT,
 * {@link #connect}, CONNECT_RESPONSE, queue pair to RTR and RTS, {@link #establish}. Server: {@link #bind},
 * {@link #listen}, CONNECT_REQUEST with a new id, queue pair to INIT, RTR and RTS, {@link #accept}, ESTABLISHED.
 * Either: {@link #disconnect}, DISCONNECTED. Every call returns at once; its outcome arrives as an event.
 *
 * <p>On {@linkplain Transport#IWARP iWARP} the connection manager establishes the connection by itself: the client gets
 * ESTABLISHED, with the server's private data, in place of CONNECT_RESPONSE.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> child of its {@link EventChannel}. The queue pair is the caller's and must be closed first.
 *
 * <p><b>Source:</b> rdma_cm(7), rdma_create_id(3), rdma_bind_addr(3), rdma_resolve_addr(3), rdma_connect(3),
 * rdma_establish(3).
 */
public final class CmId extends NativeResource {
    private final VerbsLibrary library;
    private final LongConsumer beforeDestroy;

    /**
     * Wraps an id that was just created.
     *
     * @param beforeDestroy is given the handle while the native id still exists
     */
    CmId(NativeResource channel, VerbsLibrary library, long handle, LongConsumer beforeDestroy) {
        super("connection id", handle, channel);
        this.library = library;
        this.beforeDestroy = beforeDestroy;
    }

    /**
     * Binds to a local address, which selects the device.
     *
     * @param address an address of an RDMA device's port; port 0 takes a free one
     * @throws io.rdmashuffle.ffi.NativeException EADDRNOTAVAIL, ENODEV: no RDMA device has that address
     */
    public void bind(InetSocketAddress address) {
        long id = enter();
        try (NativeBuffer sockaddr = SocketAddresses.encode(address)) {
            DeviceSearch.run(() -> NativeResult.checkSet(
                    library.cm().rdma_bind_addr(id, sockaddr.address()), () -> "rdma_bind_addr(" + address + ")"));
        } finally {
            exit();
        }
    }

    /**
     * Listens: requests arrive as CONNECT_REQUEST events.
     *
     * @param backlog most requests that wait for {@link #accept} or {@link #reject}
     */
    public void listen(int backlog) {
        long id = enter();
        try {
            NativeResult.checkSet(library.cm().rdma_listen(id, backlog), () -> "rdma_listen(" + localAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Resolves the peer's address to a device and an address of it; ends with ADDRESS_RESOLVED or ADDRESS_ERROR.
     *
     * @param source local address, null for the one that the routing table gives
     * @param target the peer's listener
     * @param timeout until ADDRESS_ERROR; in whole milliseconds
     */
    public void resolveAddress(@Nullable InetSocketAddress source, InetSocketAddress target, Duration timeout) {
        long id = enter();
        try (NativeBuffer to = SocketAddresses.encode(target);
                NativeBuffer from = SocketAddresses.encode(source == null ? target : source)) {
            long fromAt = source == null ? 0 : from.address();
            NativeResult.checkSet(
                    library.cm().rdma_resolve_addr(id, fromAt, to.address(), (int) timeout.toMillis()),
                    () -> "rdma_resolve_addr(" + source + ", " + target + ")");
        } finally {
            exit();
        }
    }

    /**
     * Resolves the path to the peer, after ADDRESS_RESOLVED; ends with ROUTE_RESOLVED or ROUTE_ERROR.
     *
     * @param timeout until ROUTE_ERROR; in whole milliseconds
     */
    public void resolveRoute(Duration timeout) {
        long id = enter();
        try {
            NativeResult.checkSet(
                    library.cm().rdma_resolve_route(id, (int) timeout.toMillis()),
                    () -> "rdma_resolve_route(" + remoteAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Sends the connection request, after ROUTE_RESOLVED and with the queue pair in INIT.
     *
     * @param parameters read during the call
     */
    public void connect(ConnectionParameters parameters) {
        long id = enter();
        try (NativeBuffer encoded = parameters.encode()) {
            NativeResult.checkSet(
                    library.cm().rdma_connect(id, encoded.address()), () -> "rdma_connect(" + remoteAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Notifies the peer that this side is ready, after CONNECT_RESPONSE and with the queue pair in RTS. On iWARP, where
     * the connection is established already, it returns at once.
     */
    public void establish() {
        long id = enter();
        try {
            long verbs = RawMemory.getLong(id + rdma_cm_id.verbs);
            if (verbs != 0 && Transport.ofContext(verbs) == Transport.IWARP) {
                return;
            }
            NativeResult.checkSet(library.cm().rdma_establish(id), () -> "rdma_establish(" + remoteAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Accepts a request, with the queue pair in RTS.
     *
     * @param parameters read during the call
     */
    public void accept(ConnectionParameters parameters) {
        long id = enter();
        try (NativeBuffer encoded = parameters.encode()) {
            NativeResult.checkSet(
                    library.cm().rdma_accept(id, encoded.address()), () -> "rdma_accept(" + remoteAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Refuses a request.
     *
     * @param reason reaches the peer as private data; at most 148 bytes
     */
    public void reject(byte[] reason) {
        long id = enter();
        try (NativeBuffer data = new NativeBuffer(Math.max(1, reason.length))) {
            RawMemory.putBytes(data.address(), reason, 0, reason.length);
            NativeResult.checkSet(
                    library.cm().rdma_reject(id, data.address(), (byte) reason.length),
                    () -> "rdma_reject(" + remoteAddress() + ")");
        } finally {
            exit();
        }
    }

    /**
     * Ends a connection. The peer gets DISCONNECTED; this side gets it when the peer has called this too, or after the
     * connection manager's own timeout.
     *
     * @return false if the connection had ended already
     */
    public boolean disconnect() {
        long id = enter();
        try {
            return library.cm().rdma_disconnect(id) == 0;
        } finally {
            exit();
        }
    }

    /**
     * Sets the type of service, which on RoCE becomes the traffic class of packets; before connecting.
     *
     * @param typeOfService 0 to 255
     */
    public void typeOfService(int typeOfService) {
        long id = enter();
        try (NativeBuffer value = new NativeBuffer(1)) {
            value.putByte(0, (byte) typeOfService);
            NativeResult.checkSet(
                    library.cm()
                            .rdma_set_option(
                                    id, CmConstants.RDMA_OPTION_ID, CmConstants.RDMA_OPTION_ID_TOS, value.address(), 1),
                    () -> "rdma_set_option(TOS=" + typeOfService + ")");
        } finally {
            exit();
        }
    }

    /**
     * Wraps the context of the device that this id is on. librdmacm opens each device once for all ids: close the
     * result before the last id on that device.
     *
     * @return a new object at each call, which the caller closes; null if the id is not on a device yet
     */
    public @Nullable Context context() {
        long id = enter();
        try {
            long verbs = RawMemory.getLong(id + rdma_cm_id.verbs);
            return verbs == 0 ? null : Context.borrowed(library, verbs);
        } finally {
            exit();
        }
    }

    /**
     * {@return whether this id is on the same device as a context}
     *
     * @param context a context from {@link #context()} of any id
     */
    public boolean isOn(Context context) {
        long id = enter();
        try {
            return RawMemory.getLong(id + rdma_cm_id.verbs) == context.handle();
        } finally {
            exit();
        }
    }

    /** {@return the port of the device, counted from 1; 0 before the id is on one} */
    public int portNumber() {
        long id = enter();
        try {
            return Byte.toUnsignedInt(RawMemory.getByte(id + rdma_cm_id.port_num));
        } finally {
            exit();
        }
    }

    /** {@return this side's address, null if it is not bound} */
    public @Nullable InetSocketAddress localAddress() {
        long id = enter();
        try {
            return SocketAddresses.decode(id + rdma_cm_id.route__addr__src_addr);
        } finally {
            exit();
        }
    }

    /** {@return the peer's address, null if there is none yet} */
    public @Nullable InetSocketAddress remoteAddress() {
        long id = enter();
        try {
            return SocketAddresses.decode(id + rdma_cm_id.route__addr__dst_addr);
        } finally {
            exit();
        }
    }

    /** Returns whether the port is Ethernet; asks the device. */
    boolean isEthernet() {
        try (Context context = context()) {
            return context != null && context.port(portNumber()).ethernet();
        }
    }

    @Override
    void destroy(long handle) {
        beforeDestroy.accept(handle);
        NativeResult.checkSet(library.cm().rdma_destroy_id(handle), () -> "rdma_destroy_id()");
    }
}
