// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Damaged addresses of the verbs fabric, with a checksum that is wrong and with one that fits. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VerbsAddressFuzzTest {
    @Test
    void everyDamagedAddressIsRefusedOrHarmless() throws Exception {
        try (FuzzRun run = new FuzzRun("verbs address", PeerUnreachableException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (int rails : new int[] {1, 2, 6}) {
                byte[] valid = address(rails).encode();
                mutations.all(valid, run.times(500), input -> {
                    attempt(run, valid, input, false);
                    attempt(run, valid, sealed(input), true);
                });
            }
            assertThat(run.harmless()).as("some damage is another address").isPositive();
        }
    }

    private static void attempt(FuzzRun run, byte[] valid, byte[] input, boolean sealed) {
        run.attempt(input, () -> {
            VerbsAddress address = VerbsAddress.decode(input);
            assertThat(sealed || Arrays.equals(valid, input))
                    .as("a checksum that does not fit")
                    .isTrue();
            assertThat(address.rails()).hasSizeBetween(1, 16).allSatisfy(rail -> {
                assertThat(rail.isUnresolved()).isFalse();
                assertThat(rail.getPort()).isBetween(1, 65535);
            });
            assertThat(VerbsAddress.decode(address.encode())).isEqualTo(address);
            return true;
        });
    }

    private static VerbsAddress address(int rails) throws Exception {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int i = 0; i < rails; i++) {
            String host = i % 2 == 0 ? "192.0.2." + i : "2001:db8::" + i;
            addresses.add(new InetSocketAddress(InetAddress.getByName(host), 1 + 4095 * i));
        }
        return new VerbsAddress(0x1122334455667788L, addresses);
    }

    /** Makes magic and checksum right, whatever the rest is. */
    private static byte[] sealed(byte[] input) {
        byte[] sealed = input.clone();
        if (sealed.length >= 8) {
            ByteBuffer out =
                    ByteBuffer.wrap(sealed).order(ByteOrder.LITTLE_ENDIAN).putInt(0, 0x314D4452);
            CRC32C crc = new CRC32C();
            crc.update(sealed, 0, sealed.length - 4);
            out.putInt(sealed.length - 4, (int) crc.getValue());
        }
        return sealed;
    }
}
