// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsLayout.sockaddr_in;
import io.rdmashuffle.ffi.VerbsLayout.sockaddr_in6;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/** Socket addresses as C has them. <b>Source:</b> ip(7), ipv6(7). */
final class SocketAddresses {
    private static final int AF_INET = 2;
    private static final int AF_INET6 = 10;

    private SocketAddresses() {}

    /** Returns the address as a sockaddr_in or sockaddr_in6; the caller closes it. */
    static NativeBuffer encode(InetSocketAddress address) {
        byte[] bytes = address.getAddress().getAddress();
        boolean six = bytes.length == 16;
        NativeBuffer sockaddr = new NativeBuffer(sockaddr_in6.SIZEOF);
        sockaddr.putShort(0, (short) (six ? AF_INET6 : AF_INET));
        sockaddr.putShort(sockaddr_in.sin_port, Short.reverseBytes((short) address.getPort()));
        RawMemory.putBytes(
                sockaddr.address() + (six ? sockaddr_in6.sin6_addr : sockaddr_in.sin_addr), bytes, 0, bytes.length);
        if (address.getAddress() instanceof Inet6Address scoped) {
            sockaddr.putInt(sockaddr_in6.sin6_scope_id, scoped.getScopeId());
        }
        return sockaddr;
    }

    /** Reads the sockaddr at a place that the caller keeps alive; null if it is of another family, or not set. */
    static @Nullable InetSocketAddress decode(long sockaddr) {
        int family = RawMemory.getShort(sockaddr);
        if (family != AF_INET && family != AF_INET6) {
            return null;
        }
        byte[] bytes = new byte[family == AF_INET6 ? 16 : 4];
        RawMemory.getBytes(
                sockaddr + (family == AF_INET6 ? sockaddr_in6.sin6_addr : sockaddr_in.sin_addr),
                bytes,
                0,
                bytes.length);
        int port = Short.toUnsignedInt(Short.reverseBytes(RawMemory.getShort(sockaddr + sockaddr_in.sin_port)));
        try {
            InetAddress address = InetAddress.getByAddress(bytes);
            if (address instanceof Inet6Address six && six.isLinkLocalAddress()) {
                // Such an address means nothing without its interface.
                address =
                        Inet6Address.getByAddress(null, bytes, RawMemory.getInt(sockaddr + sockaddr_in6.sin6_scope_id));
            }
            return new InetSocketAddress(address, port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("4 or 16 bytes are always an address", e);
        }
    }
}
