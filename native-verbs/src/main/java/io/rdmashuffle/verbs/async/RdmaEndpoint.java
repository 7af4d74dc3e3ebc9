// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One RDMA device in use by this process: memory, listeners, connections, and the threads {@code rdma-progress-N} that
 * drive them.
 *
 * <p><b>Threading:</b> thread-safe. Futures complete and acceptors run on progress threads and must not block them.
 *
 * <p><b>Ownership:</b> owns its device, regions, listeners and connections; closing it fails outstanding operations,
 * then releases all.
 */
public final class RdmaEndpoint implements AutoCloseable {
    private final InetAddress local;
    private final Resources resources;
    private final ProgressThreads threads;
    private final ConnectionEvents connectionEvents;
    private final DeviceEvents deviceEvents;
    private final Listeners listeners = new Listeners();
    private final Set<SharedReceives> sharedReceives = ConcurrentHashMap.newKeySet();
    private final Set<MemoryServer> memoryServers = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean closed = new AtomicBoolean();

    private RdmaEndpoint(InetAddress local, Resources resources) {
        this.local = local;
        this.resources = resources;
        this.threads = resources.createThreads();
        this.connectionEvents = new ConnectionEvents(resources.events(), this::dispatchOther);
        this.deviceEvents = new DeviceEvents(resources.context(), threads::handle);
        threads.first().watch(connectionEvents.fileDescriptor(), false, connectionEvents::take);
        threads.first().watch(deviceEvents.fileDescriptor(), true, deviceEvents::take);
        threads.start();
    }

    /**
     * Opens the device that a local address belongs to.
     *
     * @param local an address of an RDMA device's port
     * @param options bounds and timeouts
     * @return the endpoint, which the caller closes
     * @throws RdmaUnavailableException if rdma-core is not installed
     * @throws IOException if the address is not that of one device
     * @throws io.rdmashuffle.ffi.NativeException if no device has the address, the kernel has no RDMA, or this user has
     *     no permission
     */
    public static RdmaEndpoint open(InetAddress local, EndpointOptions options)
            throws RdmaUnavailableException, IOException {
        return open(VerbsLibrary.load(), local, options);
    }

    /**
     * Opens the device that a local address belongs to, with these native functions.
     *
     * @param library the native functions
     * @param local an address of an RDMA device's port
     * @param options bounds and timeouts
     * @return the endpoint, which the caller closes
     * @throws IOException if the address is not that of one device
     * @throws io.rdmashuffle.ffi.NativeException if no device has the address, the kernel has no RDMA, or this user has
     *     no permission
     */
    public static RdmaEndpoint open(VerbsLibrary library, InetAddress local, EndpointOptions options)
            throws IOException {
        Resources resources = Resources.open(library, local, options);
        try {
            return new RdmaEndpoint(local, resources);
        } catch (RuntimeException e) {
            resources.close();
            throw e;
        }
    }

    /**
     * Opens a device by its name, at the first address of its first active port: on RoCE that of its network interface,
     * on InfiniBand that of IPoIB.
     *
     * @param name the kernel's name, for example {@code mlx5_0}
     * @param options bounds and timeouts
     * @return the endpoint, which the caller closes
     * @throws RdmaUnavailableException if rdma-core is not installed
     * @throws IOException if there is no such device, or none of its active ports has an address
     */
    public static RdmaEndpoint openDevice(String name, EndpointOptions options)
            throws RdmaUnavailableException, IOException {
        VerbsLibrary library = VerbsLibrary.load();
        return open(library, LocalAddress.ofDevice(library, name).address(), options);
    }

    /** {@return the kernel's name of the device} */
    public String deviceName() {
        return resources.deviceName();
    }

    /** {@return the local address that listeners bind to} */
    public InetAddress address() {
        return local;
    }

    /**
     * Allocates memory that peers may read, write and, where the device has atomics, use for them, once they have its
     * description.
     *
     * @param lengthBytes at least 1
     * @return a zeroed region, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM: the limit of locked memory is too low
     */
    public LocalRegion allocate(long lengthBytes) {
        return allocate(lengthBytes, resources.allRights());
    }

    /**
     * Allocates memory with just these rights. On iWARP {@code LOCAL_WRITE} includes {@code REMOTE_WRITE}: a READ
     * writes its target as a peer would.
     *
     * @param lengthBytes at least 1
     * @param rights what this process and its peers may do
     * @return a zeroed region, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM: the limit of locked memory is too low
     */
    public LocalRegion allocate(long lengthBytes, Set<Access> rights) {
        requireOpen();
        return resources.allocate(lengthBytes, rights);
    }

    /**
     * Registers a direct buffer, a mapped file for example, with every right that it can have: a read-only one may be
     * read by peers.
     *
     * @param buffer a direct one; registered from its position to its limit
     * @return a region over the same bytes, which the caller closes; it keeps the buffer reachable until then
     * @throws IllegalArgumentException if the buffer is on the heap or has nothing between position and limit
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM: the limit of locked memory is too low; EFAULT, EOPNOTSUPP: the
     *     kernel does not pin such memory, for example a file on a disk that the device may write to
     */
    public LocalRegion register(ByteBuffer buffer) {
        return register(buffer, buffer.isReadOnly() ? Set.of(Access.REMOTE_READ) : resources.allRights());
    }

    /**
     * Registers a direct buffer, a mapped file for example, with just these rights; on iWARP as
     * {@link #allocate(long, Set)} says.
     *
     * @param buffer a direct one; registered from its position to its limit
     * @param rights what this process and its peers may do
     * @return a region over the same bytes, which the caller closes; it keeps the buffer reachable until then
     * @throws IllegalArgumentException if the buffer is on the heap, has nothing between position and limit, or is
     *     read-only and the rights are not
     * @throws io.rdmashuffle.ffi.NativeException as {@link #register(ByteBuffer)}
     */
    public LocalRegion register(ByteBuffer buffer, Set<Access> rights) {
        requireOpen();
        return resources.register(buffer, rights);
    }

    /**
     * Registers memory by its address: huge pages, files longer than a buffer, memory of another library. The caller
     * keeps it mapped until the region is closed, which closing this endpoint does too; otherwise accesses of this
     * process to the region crash the JVM.
     *
     * @param address first byte
     * @param lengthBytes at least 1
     * @param rights what this process and its peers may do
     * @return a region over the same bytes, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException as {@link #register(ByteBuffer)}; EFAULT: not all of it is mapped, or
     *     it is mapped read-only and the rights are not
     */
    public LocalRegion register(long address, long lengthBytes, Set<Access> rights) {
        requireOpen();
        return resources.register(address, lengthBytes, rights);
    }

    /**
     * Listens for connections, and accepts all.
     *
     * <p>On iWARP a message that finds no receive ends its connection: a client must not send before it knows, for
     * example by a message of the server, that the acceptor has posted one.
     *
     * @param port 0 for a free one
     * @param acceptor gets, and owns, each connection when it is established; should post receives first
     * @return the listener, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException EADDRINUSE: the port is taken
     */
    public RdmaListener listen(int port, Consumer<RdmaConnection> acceptor) {
        return listen(port, request -> ConnectAnswer.accept(), acceptor);
    }

    /**
     * Listens for connections, as {@link #listen(int, Consumer)}.
     *
     * @param port 0 for a free one
     * @param admission decides on each request, before anything is allocated for it; if it throws, the request is
     *     refused
     * @param acceptor gets, and owns, each connection when it is established; should post receives first
     * @return the listener, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException EADDRINUSE: the port is taken
     */
    public RdmaListener listen(
            int port, Function<ConnectRequest, ConnectAnswer> admission, Consumer<RdmaConnection> acceptor) {
        return listen(port, admission, null, connection -> {}, acceptor);
    }

    /**
     * Listens for connections that take from shared receives, as
     * {@link #listen(int, Function, Consumer) connections with their own}.
     *
     * @param port 0 for a free one
     * @param admission decides on each request
     * @param receives of this endpoint
     * @param acceptor gets, and owns, each connection when it is established
     * @return the listener, which the caller closes
     * @throws io.rdmashuffle.ffi.NativeException EADDRINUSE: the port is taken
     */
    public RdmaListener listen(
            int port,
            Function<ConnectRequest, ConnectAnswer> admission,
            SharedReceives receives,
            Consumer<RdmaConnection> acceptor) {
        return listen(port, admission, requireOwn(receives), connection -> {}, acceptor);
    }

    private RdmaListener listen(
            int port,
            Function<ConnectRequest, ConnectAnswer> admission,
            @Nullable ReceiveSource receives,
            Consumer<RdmaConnection> preparation,
            Consumer<RdmaConnection> acceptor) {
        requireOpen();
        RdmaListener listener = new RdmaListener(
                resources,
                threads,
                connectionEvents,
                new InetSocketAddress(local, port),
                admission,
                receives,
                preparation,
                acceptor,
                listeners::remove);
        listeners.add(listener);
        boolean listening = false;
        try {
            listener.listen();
            listening = true;
        } finally {
            if (!listening) {
                listener.close();
            }
        }
        return listener;
    }

    /**
     * Posts receives for any number of connections: those of listeners and connects that are given them.
     *
     * @param count receives, at least 1; each progress thread's completion queue sets as many entries aside
     * @param messageBytes longest message, at least 1
     * @param handler gets the messages
     * @return the receives, which the caller closes
     * @throws UnsupportedOperationException if the device has no shared receive queues, as some iWARP devices
     * @throws IllegalArgumentException if a number is out of range, or above what the device has
     * @throws IOException if a completion queue has no room for that many: {@link EndpointOptions#maxCompletions()}
     * @throws io.rdmashuffle.ffi.NativeException ENOMEM: the limit of locked memory is too low
     */
    public SharedReceives shareReceives(int count, int messageBytes, SharedReceives.Handler handler)
            throws IOException {
        EndpointOptions.requirePositive("count", count);
        EndpointOptions.requirePositive("messageBytes", messageBytes);
        requireOpen();
        SharedReceives receives = new SharedReceives(
                resources, threads, resources.nextNumber(), count, messageBytes, handler, sharedReceives::remove);
        sharedReceives.add(receives);
        return receives;
    }

    private ReceiveSource requireOwn(SharedReceives receives) {
        if (!sharedReceives.contains(receives)) {
            throw new IllegalArgumentException("these shared receives are closed, or another endpoint's");
        }
        return receives.source();
    }

    /**
     * Connects to a listener.
     *
     * @param remote where the peer listens
     * @param timeout until the future fails
     * @return completes with the connection, which the caller closes, or fails with the reason:
     *     {@link RdmaRefusedException} if the peer refused
     */
    public CompletableFuture<RdmaConnection> connect(InetSocketAddress remote, Duration timeout) {
        return connect(remote, timeout, new byte[0]);
    }

    /**
     * Connects to a listener, which decides by the private data.
     *
     * @param remote where the peer listens
     * @param timeout until the future fails
     * @param privateData for the peer's {@link ConnectRequest} and {@link RdmaConnection#peerData()}; at most
     *     {@value ConnectionParameters#MAX_REQUEST_BYTES} bytes, copied. Not encrypted, and not authenticated
     * @return completes with the connection, which the caller closes, or fails with the reason:
     *     {@link RdmaRefusedException} if the peer refused
     * @throws IllegalArgumentException if the private data is longer
     */
    public CompletableFuture<RdmaConnection> connect(InetSocketAddress remote, Duration timeout, byte[] privateData) {
        return begin(remote, timeout, privateData, null);
    }

    /**
     * Connects to a listener, for a connection that takes from shared receives.
     *
     * @param remote where the peer listens
     * @param timeout until the future fails
     * @param privateData as {@link #connect(InetSocketAddress, Duration, byte[])} has it
     * @param receives of this endpoint
     * @return completes with the connection, which the caller closes, or fails with the reason:
     *     {@link RdmaRefusedException} if the peer refused
     * @throws IllegalArgumentException if the private data is longer, or the timeout is longer than 292 years
     */
    public CompletableFuture<RdmaConnection> connect(
            InetSocketAddress remote, Duration timeout, byte[] privateData, SharedReceives receives) {
        return begin(remote, timeout, privateData, requireOwn(receives));
    }

    private CompletableFuture<RdmaConnection> begin(
            InetSocketAddress remote, Duration timeout, byte[] privateData, @Nullable ReceiveSource receives) {
        requireOpen();
        ConnectAnswer.requireAtMost(
                ConnectionParameters.MAX_REQUEST_BYTES, privateData.length, "private data of a request");
        EndpointOptions.requireCountable("timeout", timeout);
        byte[] copy = privateData.clone();
        CompletableFuture<RdmaConnection> result = new CompletableFuture<>();
        threads.first().execute(() -> {
            try {
                requireOpen();
                Connecting.start(resources, threads, connectionEvents, remote, timeout, copy, receives, result);
            } catch (RuntimeException | Error e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    /**
     * Serves memory of this process to peers, up to a bound. Without this call there is none.
     *
     * @param port 0 for a free one
     * @param maxBytes most that all peers together have at a time, in whole pages of 4 KiB; 0 refuses all
     * @param admission decides on each peer; whoever is admitted may take all of it
     * @return the server, which the caller closes
     * @throws IllegalArgumentException if the bound is negative
     * @throws io.rdmashuffle.ffi.NativeException EADDRINUSE: the port is taken
     */
    public MemoryServer serveMemory(int port, long maxBytes, Function<ConnectRequest, ConnectAnswer> admission) {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("maxBytes " + maxBytes + ": must be at least 0");
        }
        requireOpen();
        MemoryServer server = new MemoryServer(
                resources,
                threads,
                maxBytes,
                admission,
                (asked, preparation) -> listen(port, asked, null, preparation, connection -> {}),
                memoryServers::remove);
        memoryServers.add(server);
        return server;
    }

    /**
     * Connects to the memory server of a peer.
     *
     * @param remote where {@link #serveMemory} listens
     * @param timeout until the future fails
     * @param privateData for the server's admission, as {@link #connect(InetSocketAddress, Duration, byte[])} has it
     * @return completes with what gives the peer's memory, which the caller closes, or fails with the reason:
     *     {@link RdmaRefusedException} if the peer refused
     * @throws IllegalArgumentException if the private data is too long
     */
    public CompletableFuture<RemoteMemory> connectMemory(
            InetSocketAddress remote, Duration timeout, byte[] privateData) {
        return RemoteMemory.over(resources, connect(remote, timeout, privateData));
    }

    /** Handles an event of an id without a handler; late ones of an id that is being closed mean nothing. */
    private void dispatchOther(CmEvent event) {
        switch (event.type()) {
            case DEVICE_REMOVAL -> threads.lose(event.describe());
            case CONNECT_REQUEST -> listeners.answer(event, !closed.get() && threads.broken() == null);
            default -> {}
        }
    }

    private void requireOpen() {
        @Nullable Throwable broken = threads.broken();
        if (closed.get()) {
            throw new IllegalStateException("endpoint on " + local + " is closed");
        }
        if (broken != null) {
            throw new IllegalStateException(
                    "endpoint on " + local + " has failed: " + broken.getMessage() + "; close it and open another",
                    broken);
        }
    }

    /**
     * Ends connections and listeners, fails outstanding operations, then frees regions and device; idempotent. Waits
     * for the progress threads.
     *
     * @throws IllegalStateException if called on one of them
     */
    @Override
    public void close() {
        if (threads.isCurrentThread()) {
            throw new IllegalStateException("an endpoint cannot be closed by a progress thread of its own");
        }
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try {
            memoryServers.forEach(MemoryServer::close);
        } finally {
            listeners.close();
            threads.stop(new IOException("endpoint on " + local + " was closed"));
            deviceEvents.close();
            try {
                sharedReceives.forEach(SharedReceives::close);
            } finally {
                resources.close();
            }
        }
    }
}
