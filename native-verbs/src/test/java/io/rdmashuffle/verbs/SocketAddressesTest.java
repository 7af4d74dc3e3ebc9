// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.NativeBuffer;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses as sockaddr and back. */
@Tag("unit")
class SocketAddressesTest {
    private static InetSocketAddress thereAndBack(InetAddress address) {
        try (NativeBuffer sockaddr = SocketAddresses.encode(new InetSocketAddress(address, 4791))) {
            return Objects.requireNonNull(SocketAddresses.decode(sockaddr.address()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"192.0.2.1", "2001:db8::1", "fe80::1"})
    void comeBack(String address) throws Exception {
        InetAddress there = InetAddress.getByName(address);
        assertThat(thereAndBack(there)).isEqualTo(new InetSocketAddress(there, 4791));
    }

    @Test
    void aLinkLocalAddressKeepsItsInterface() throws Exception {
        byte[] bytes = InetAddress.getByName("fe80::1").getAddress();
        Inet6Address back = (Inet6Address)
                thereAndBack(Inet6Address.getByAddress(null, bytes, 7)).getAddress();
        assertThat(back.getScopeId()).isEqualTo(7);
    }

    @Test
    void unsetAddressIsNull() {
        try (NativeBuffer sockaddr = new NativeBuffer(128)) {
            assertThat(SocketAddresses.decode(sockaddr.address())).isNull();
        }
    }
}
