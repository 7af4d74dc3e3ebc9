// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of exchanged addresses, and of refused ones. */
@Tag("unit")
@Timeout(60)
class PairAddressTest {
    private static PairAddress address(@Nullable String gid) throws Exception {
        InetAddress parsed = gid == null ? null : InetAddress.getByName(gid);
        return new PairAddress(0xabcdef, 0x010203, 0xfedc, parsed, 2048, 200);
    }

    private static byte[] changed(byte[] encoded, int index, int value) {
        byte[] bytes = encoded.clone();
        bytes[index] = (byte) value;
        return bytes;
    }

    @Test
    void bytesAreThoseOfTheDiagram() throws Exception {
        String numbers = "01" + "04" + "fedc" + "00abcdef" + "00010203" + "c8" + "000000";
        HexFormat hex = HexFormat.of();
        assertThat(hex.formatHex(address("fe80::1:2").encode()))
                .isEqualTo(numbers + "fe800000000000000000000000010002");
        assertThat(hex.formatHex(address("10.77.0.1").encode()))
                .isEqualTo(numbers + "00000000000000000000ffff0a4d0001");
        assertThat(hex.formatHex(address(null).encode())).isEqualTo(numbers + "00".repeat(16));
    }

    @Test
    void decodedItIsTheSame() throws Exception {
        for (String gid : new String[] {"fe80::1:2", "10.77.0.1", null}) {
            assertThat(PairAddress.decode(address(gid).encode())).isEqualTo(address(gid));
        }
        for (int mtu = 256; mtu <= 4096; mtu *= 2) {
            PairAddress smallest = new PairAddress(0, 0, 0, null, mtu, 0);
            assertThat(PairAddress.decode(smallest.encode())).isEqualTo(smallest);
        }
    }

    @Test
    void malformedAddressIsRefused() throws Exception {
        byte[] good = address("10.77.0.1").encode();
        assertThatIllegalArgumentException().isThrownBy(() -> PairAddress.decode(new byte[0]));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PairAddress.decode(Arrays.copyOf(good, 31)))
                .withMessageContaining("address of 31 bytes, version 1: must be 32 bytes");
        assertThatIllegalArgumentException().isThrownBy(() -> PairAddress.decode(Arrays.copyOf(good, 33)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PairAddress.decode(changed(good, 0, 2)))
                .withMessageContaining("version 2");
        for (int mtu : new int[] {0, 6, -1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> PairAddress.decode(changed(good, 1, mtu)))
                    .withMessageContaining("MTU code " + mtu);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> PairAddress.decode(changed(good, 4, 1)));
        assertThatIllegalArgumentException().isThrownBy(() -> PairAddress.decode(changed(good, 8, 0x80)));
        assertThatIllegalArgumentException().isThrownBy(() -> new PairAddress(1, 1, 1 << 16, null, 256, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new PairAddress(1, 1, 1, null, 256, 256));
        assertThatIllegalArgumentException().isThrownBy(() -> new PairAddress(1, 1, 1, null, 1500, 1));
    }
}
