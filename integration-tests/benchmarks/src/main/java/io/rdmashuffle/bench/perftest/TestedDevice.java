// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.perftest;

import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * The device that a bench runs on.
 *
 * @param name the kernel's name
 * @param address an address of its first active port
 * @param iwarp whether it speaks iWARP, and so connects through rdma_cm only
 * @param atomics whether it has atomics
 */
public record TestedDevice(String name, InetAddress address, boolean iwarp, boolean atomics) {
    /**
     * Examines a device.
     *
     * @throws IOException if there is no such device, or none of its active ports has an address
     */
    public static TestedDevice find(String name) throws RdmaUnavailableException, IOException {
        VerbsLibrary library = VerbsLibrary.load();
        InetAddress address = LocalAddress.ofDevice(library, name).address();
        try (EventChannel channel = EventChannel.open(library);
                CmId id = channel.createId()) {
            id.bind(new InetSocketAddress(address, 0));
            try (Context context = Objects.requireNonNull(id.context(), "a bound id is on a device")) {
                boolean iwarp = context.transport() == Transport.IWARP;
                return new TestedDevice(name, address, iwarp, context.limits().atomics());
            }
        }
    }
}
