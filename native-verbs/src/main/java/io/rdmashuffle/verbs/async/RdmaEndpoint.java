package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A process's place on one RDMA device: memory, listeners, connections, and the thread {@code rdma-progress-N} that moves them
 * on.
 *
 * <p><b>Threading:</b> thread-safe. Futures complete and acceptors run on the progress thread and must not block it.
 *
 * <p><b>Ownership:</b> owns its device, regions, listeners and connections; closing it fails what is outstanding, then frees.
 */
public final class RdmaEndpoint implements AutoCloseable {
    private static final Set<Access> ALL_RIGHTS =
            Set.of(Access.LOCAL_WRITE, Access.REMOTE_READ, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC);

    private final InetAddress local;
    private final Resources resources;
    private final Progress progress;
    private final Map<Integer, RdmaListener> listeners = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    private RdmaEndpoint(InetAddress local, Resources resources, EndpointOptions options) {
        this.local = local;
        this.resources = resources;
        this.progress = new Progress(
                resources.events(), resources.channel(), resources.queue(), options.busyPoll(), this::dispatchRequest);
        progress.start();
    }

    /**
     * Opens the device that a local address belongs to.
     *
     * @throws RdmaUnavailableException if rdma-core is not installed
     * @throws io.rdmashuffle.ffi.NativeException if the address has no device, the kernel no RDMA, or this user no right to it
     */
    public static RdmaEndpoint open(InetAddress local, EndpointOptions options)
            throws RdmaUnavailableException, IOException {
        return open(VerbsLibrary.load(), local, options);
    }

    /** Opens the device that a local address belongs to, with these native functions. */
    public static RdmaEndpoint open(VerbsLibrary library, InetAddress local, EndpointOptions options)
            throws IOException {
        Resources resources = Resources.open(library, local, options);
        try {
            return new RdmaEndpoint(local, resources, options);
        } catch (RuntimeException e) {
            resources.close();
            throw e;
        }
    }

    /** Opens a device by its name, at the first address of its first active port. */
    public static RdmaEndpoint openDevice(String name, EndpointOptions options)
            throws RdmaUnavailableException, IOException {
        VerbsLibrary library = VerbsLibrary.load();
        return open(library, addressOf(library, name), options);
    }

    private static InetAddress addressOf(VerbsLibrary library, String name) throws IOException {
        try (DeviceList list = DeviceList.read(library)) {
            for (DeviceList.Device device : list.devices()) {
                if (device.name().equals(name)) {
                    return addressOf(device);
                }
            }
            throw new IOException("no RDMA device " + name + "; devices of this machine: " + list.devices());
        }
    }

    private static InetAddress addressOf(DeviceList.Device device) throws IOException {
        try (Context context = device.open()) {
            for (GidEntry gid : context.gids()) {
                if (!gid.address().isLinkLocalAddress()
                        && context.port(gid.port()).active()) {
                    return gid.address();
                }
            }
            throw new IOException(
                    "device " + device.name() + " has no active port with an IP address (rdma link; ip addr)");
        }
    }

    /** Returns the kernel's name of the device. */
    public String deviceName() {
        return resources.deviceName();
    }

    /** Returns the local address. */
    public InetAddress address() {
        return local;
    }

    /** Allocates memory that peers may read, write and use for atomics, once they have its description. */
    public LocalRegion allocate(long lengthBytes) {
        return allocate(lengthBytes, ALL_RIGHTS);
    }

    /** Allocates memory with just these rights. */
    public LocalRegion allocate(long lengthBytes, Set<Access> rights) {
        requireOpen();
        return resources.allocate(lengthBytes, rights);
    }

    /**
     * Takes connections.
     *
     * @param port 0 for a free one
     * @param acceptor gets, and owns, each connection when it is established; should post receives first
     */
    public RdmaListener listen(int port, Consumer<RdmaConnection> acceptor) {
        requireOpen();
        RdmaListener listener = new RdmaListener(
                resources,
                progress,
                new InetSocketAddress(local, port),
                acceptor,
                closing -> listeners.remove(closing.address().getPort(), closing));
        listeners.put(listener.address().getPort(), listener);
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

    /** Connects to a listener; fails with the reason, at the latest after the timeout. */
    public CompletableFuture<RdmaConnection> connect(InetSocketAddress remote, Duration timeout) {
        requireOpen();
        CompletableFuture<RdmaConnection> result = new CompletableFuture<>();
        progress.execute(() -> {
            try {
                requireOpen();
                Connecting.start(resources, progress, remote, timeout, result);
            } catch (RuntimeException e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    /** An event of an id that nothing handles: a request to connect, or a late one of an id that is ending. */
    private void dispatchRequest(CmEvent event) {
        if (event.type() != CmEvent.Type.CONNECT_REQUEST) {
            return;
        }
        InetSocketAddress at = event.id().localAddress();
        RdmaListener listener = at == null ? null : listeners.get(at.getPort());
        if (listener == null || closed.get()) {
            event.id().reject(new byte[0]);
            event.id().close();
        } else {
            listener.answer(event);
        }
    }

    private void requireOpen() {
        @Nullable Throwable broken = progress.broken();
        if (closed.get() || broken != null) {
            throw new IllegalStateException("endpoint on " + local + " is closed", broken);
        }
    }

    /**
     * Ends connections and listeners, fails what is outstanding, takes regions back and frees; idempotent. Not to be called on
     * the progress thread, which it waits for.
     */
    @Override
    public void close() {
        if (progress.isCurrentThread()) {
            throw new IllegalStateException("an endpoint cannot be closed by its own progress thread");
        }
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        listeners.values().forEach(RdmaListener::close);
        boolean interrupted = false;
        while (true) {
            try {
                progress.stop(new IOException("endpoint on " + local + " was closed"));
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        resources.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
