// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.PairAddress;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address of a queue pair as ibv_rc_pingpong says it: {@code lid:qpn:psn:gid} in hexadecimal digits, with the zero
 * that ends a string of C.
 *
 * <pre>
 *  0     4   5       11  12      18  19                                51  52
 *  +-----+---+-------+---+-------+---+---------------------------------+---+
 *  |0000 | : |000011 | : |1dc310 | : |00000000000000000000ffff0a4d0001 |\0 |
 *  +-----+---+-------+---+-------+---+---------------------------------+---+
 * </pre>
 *
 * <p><b>Threading:</b> stateless. <b>Source:</b> pp_client_exch_dest of libibverbs/examples/rc_pingpong.c.
 */
final class WireAddress {
    static final int BYTES = 52;

    /** What the client says last. */
    static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);

    private static final int GID_BYTES = 16;
    private static final Pattern TEXT =
            Pattern.compile("(\\p{XDigit}{4}):(\\p{XDigit}{6}):(\\p{XDigit}{6}):(\\p{XDigit}{32})\0");

    private WireAddress() {}

    static byte[] encode(PairAddress address) {
        byte[] encoded = address.encode();
        byte[] gid = Arrays.copyOfRange(encoded, encoded.length - GID_BYTES, encoded.length);
        return String.format(
                        Locale.ROOT,
                        "%04x:%06x:%06x:%s\0",
                        address.lid(),
                        address.number(),
                        address.firstSequence(),
                        HexFormat.of().formatHex(gid))
                .getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Reads an address.
     *
     * @param mtuBytes what this side uses: ibv_rc_pingpong does not say
     * @throws IOException if it is none
     */
    static PairAddress decode(byte[] said, int mtuBytes) throws IOException {
        Matcher parts = TEXT.matcher(new String(said, StandardCharsets.ISO_8859_1));
        if (!parts.matches()) {
            throw new IOException("the peer said " + said.length
                    + " bytes that are no address of ibv_rc_pingpong: is it" + " another program?");
        }
        return new PairAddress(
                Integer.parseInt(parts.group(2), 16),
                Integer.parseInt(parts.group(3), 16),
                Integer.parseInt(parts.group(1), 16),
                gid(parts.group(4)),
                mtuBytes,
                1);
    }

    private static @Nullable InetAddress gid(String digits) throws IOException {
        boolean none = new BigInteger(digits, 16).signum() == 0;
        return none ? null : InetAddress.getByAddress(HexFormat.of().parseHex(digits));
    }
}
