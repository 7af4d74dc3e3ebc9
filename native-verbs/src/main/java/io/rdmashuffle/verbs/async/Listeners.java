// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The listeners of an endpoint, by port.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owned by the endpoint, which closes remaining ones.
 */
final class Listeners implements AutoCloseable {
    private final Map<Integer, RdmaListener> byPort = new ConcurrentHashMap<>();

    void add(RdmaListener listener) {
        byPort.put(listener.address().getPort(), listener);
    }

    void remove(RdmaListener listener) {
        byPort.remove(listener.address().getPort(), listener);
    }

    /**
     * Passes a request to the listener at its port, or rejects it.
     *
     * @param open whether the endpoint can take connections
     */
    void answer(CmEvent request, boolean open) {
        InetSocketAddress at = request.id().localAddress();
        @Nullable RdmaListener listener = at == null ? null : byPort.get(at.getPort());
        if (listener == null || !open) {
            try (CmId peer = request.id()) {
                peer.reject(new byte[0]);
            } catch (NativeException e) {
                // Its peer has given up, and gets no answer.
            }
        } else {
            listener.answer(request);
        }
    }

    @Override
    public void close() {
        byPort.values().forEach(RdmaListener::close);
    }
}
