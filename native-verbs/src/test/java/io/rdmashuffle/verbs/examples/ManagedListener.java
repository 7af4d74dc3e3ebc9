// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Waits for the one client of a server, at an address of an RDMA device.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the events until a link has taken them over.
 */
final class ManagedListener implements AutoCloseable {
    private static final int BACKLOG = 4;

    private final ManagerEvents events;
    private final CmId id;
    private final String deviceName;
    private boolean taken;

    private ManagedListener(ManagerEvents events, CmId id, String deviceName) {
        this.events = events;
        this.id = id;
        this.deviceName = deviceName;
    }

    /**
     * Listens.
     *
     * @param at an empty host takes the address of the device, or of the first one with an active port
     * @param device null for the one that has the address
     */
    static ManagedListener open(VerbsLibrary library, HostPort at, @Nullable String device) throws IOException {
        ManagerEvents events = new ManagerEvents(library);
        boolean made = false;
        try {
            LocalAddress local = choose(library, events, at, device);
            CmId id = events.channel().createId();
            id.bind(new InetSocketAddress(local.address(), at.port()));
            id.listen(BACKLOG);
            made = true;
            return new ManagedListener(events, id, local.deviceName());
        } finally {
            if (!made) {
                events.close();
            }
        }
    }

    private static LocalAddress choose(VerbsLibrary library, ManagerEvents events, HostPort at, @Nullable String device)
            throws IOException {
        if (at.host().isEmpty()) {
            return device == null ? first(events) : LocalAddress.ofDevice(library, device);
        }
        LocalAddress local = LocalAddress.at(events.channel(), at.resolve().getAddress());
        if (device != null && !device.equals(local.deviceName())) {
            throw new IOException(at.host() + " is an address of " + local.deviceName() + ", not of " + device);
        }
        return local;
    }

    private static LocalAddress first(ManagerEvents events) throws IOException {
        return LocalAddress.find(events.channel()).stream()
                .filter(local -> local.port().active() && !local.address().isLinkLocalAddress())
                .min(Comparator.comparing(LocalAddress::deviceName)
                        .thenComparing(local -> local.address().getAddress().length))
                .orElseThrow(() -> new IOException("no RDMA device of this machine has an active port with an IP"
                        + " address (rdma link; ip addr)"));
    }

    InetSocketAddress address() {
        return Objects.requireNonNull(id.localAddress(), "a listener is bound");
    }

    String deviceName() {
        return deviceName;
    }

    /**
     * Waits for an acceptable client; refuses others with a reason.
     *
     * @param wait total timeout
     * @param refusal returns the reason of a refusal; null to accept
     * @param out receives refusals
     */
    CmEvent request(Duration wait, Function<byte[], @Nullable String> refusal, PrintWriter out) throws IOException {
        long deadline = System.nanoTime() + wait.toNanos();
        while (true) {
            CmEvent event = events.awaitUntil(
                    deadline,
                    CmEvent.Type.CONNECT_REQUEST,
                    "listening at " + HostPort.text(address()),
                    "no client within " + wait.toSeconds() + " s");
            String reason = refusal.apply(event.privateData());
            if (reason == null) {
                return event;
            }
            out.println("refused " + event.id().remoteAddress() + ": " + reason);
            try (CmId client = event.id()) {
                client.reject(reason.getBytes(StandardCharsets.UTF_8));
            } catch (NativeException e) {
                out.println("it has given up: " + e.getMessage());
            }
        }
    }

    /** Accepts a request and listens no longer; as {@link ManagedLink#accept}. */
    ManagedLink accept(CmEvent request, Duration timeout, Side.Needs needs, Function<Side, byte[]> prepare)
            throws IOException {
        id.close();
        taken = true;
        return ManagedLink.accept(events, request, timeout, needs, prepare);
    }

    @Override
    public void close() {
        if (!taken) {
            events.close();
        }
    }
}
