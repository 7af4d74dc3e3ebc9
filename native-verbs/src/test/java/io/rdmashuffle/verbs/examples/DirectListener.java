// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Waits for the one client of a server on a TCP socket, with the device open.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the socket, and the context until a link has taken it over.
 */
final class DirectListener implements AutoCloseable {
    private final ServerSocket socket;
    private final Context context;
    private final PortChoice choice;
    private boolean taken;

    private DirectListener(ServerSocket socket, Context context, PortChoice choice) {
        this.socket = socket;
        this.context = context;
        this.choice = choice;
    }

    /**
     * Listens.
     *
     * @param at an empty host takes all addresses of this machine
     */
    static DirectListener open(VerbsLibrary library, HostPort at, PortChoice choice) throws IOException {
        InetSocketAddress address = at.host().isEmpty() ? new InetSocketAddress(at.port()) : at.resolve();
        ServerSocket socket = new ServerSocket();
        boolean made = false;
        try {
            socket.setReuseAddress(true);
            socket.bind(address, 1);
            DirectListener listener = new DirectListener(socket, choice.open(library, address.getAddress()), choice);
            made = true;
            return listener;
        } finally {
            if (!made) {
                socket.close();
            }
        }
    }

    InetSocketAddress address() {
        return (InetSocketAddress) socket.getLocalSocketAddress();
    }

    String deviceName() {
        return context.deviceName();
    }

    /**
     * Waits for a client, and listens no longer.
     *
     * @param wait until it comes
     * @param timeout until it says something
     * @param prepare is given this side before the peer can send
     */
    DirectLink accept(Duration wait, Duration timeout, Side.Needs needs, Consumer<Side> prepare) throws IOException {
        socket.setSoTimeout((int) wait.toMillis());
        try (Socket client = awaitClient(wait)) {
            socket.close();
            taken = true;
            return DirectLink.over(client, true, context, choice, timeout, needs, prepare);
        } catch (SocketTimeoutException e) {
            throw new IOException("the client said nothing within " + timeout.toSeconds() + " s", e);
        }
    }

    private Socket awaitClient(Duration wait) throws IOException {
        try {
            return socket.accept();
        } catch (SocketTimeoutException e) {
            throw new IOException("no client within " + wait.toSeconds() + " s", e);
        }
    }

    @Override
    public void close() {
        if (!taken) {
            context.close();
        }
        try {
            socket.close();
        } catch (IOException e) {
            throw new IllegalStateException("cannot close the socket", e);
        }
    }
}
