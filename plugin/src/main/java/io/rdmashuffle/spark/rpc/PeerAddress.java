// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import io.rdmashuffle.registry.Member;
import java.nio.charset.StandardCharsets;

/**
 * Address of an executor's block transfer, among a member's addresses: {@code port:host}.
 *
 * <p><b>Threading:</b> immutable.
 */
public record PeerAddress(String host, int port) {
    /** The address's name, beside those of fabrics. */
    public static final String NAME = "spark";

    private static final int MAX_PORT = 65_535;

    /** Returns a member's address; throws {@link IllegalArgumentException} if it has none that makes sense. */
    public static PeerAddress of(Member member) {
        byte[] bytes = member.address(NAME);
        if (bytes == null) {
            throw new IllegalArgumentException(member + " has no address for messages of peers");
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        int colon = text.indexOf(':');
        if (colon > 0 && text.length() > colon + 1 && text.substring(0, colon).matches("[0-9]{1,5}")) {
            int port = Integer.parseInt(text.substring(0, colon));
            if (port > 0 && port <= MAX_PORT) {
                return new PeerAddress(text.substring(colon + 1), port);
            }
        }
        throw new IllegalArgumentException(member + " has an address that makes no sense: " + text);
    }

    /** Returns the announced bytes. */
    public byte[] encode() {
        return (port + ":" + host).getBytes(StandardCharsets.UTF_8);
    }
}
