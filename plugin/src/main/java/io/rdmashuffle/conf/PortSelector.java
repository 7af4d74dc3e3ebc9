// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Selector of a port: device, port number and GID index.
 *
 * @param device the kernel's name, for example {@code mlx5_0}
 * @param port counts from 1; {@link #ANY} for the best
 * @param gidIndex place in the port's table of global identifiers; {@link #ANY} for the best
 */
public record PortSelector(String device, int port, int gidIndex) {
    /** Leaves the choice to the fabric. */
    public static final int ANY = -1;

    /** Stands for the best port. */
    static final String AUTO = "auto";

    /** Maximum number of ports in the fabric's address. */
    private static final int MAX_PORTS = 16;

    /** The kernel numbers ports in 8 bits, and 255 means any. */
    private static final int MAX_PORT_NUMBER = 254;

    /** The kernel keeps names of devices in 64 bytes. */
    private static final Pattern TEXT =
            Pattern.compile("([A-Za-z0-9][A-Za-z0-9_.-]{0,62})(?::([0-9]{1,3})(?::([0-9]{1,4}))?)?");

    /**
     * Reads {@code mlx5_0}, {@code mlx5_0:1} or {@code mlx5_0:1:3}, several of them apart by commas; {@code auto} is
     * none.
     */
    public static List<PortSelector> parse(String text) {
        if (text.equalsIgnoreCase(AUTO)) {
            return List.of();
        }
        List<PortSelector> selectors = new ArrayList<>();
        for (String part : text.split(",", -1)) {
            PortSelector selector = parseOne(part.strip());
            if (selectors.contains(selector)) {
                throw new IllegalArgumentException("'" + selector + "' is there twice");
            }
            selectors.add(selector);
        }
        if (selectors.size() > MAX_PORTS) {
            throw new IllegalArgumentException(selectors.size() + " ports, at most " + MAX_PORTS);
        }
        return selectors;
    }

    private static PortSelector parseOne(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not of the form device[:port[:gidIndex]]");
        }
        if (matcher.group(1).equalsIgnoreCase(AUTO)) {
            throw new IllegalArgumentException("'" + AUTO + "' stands alone");
        }
        int port = number(matcher.group(2));
        if (port == 0 || port > MAX_PORT_NUMBER) {
            throw new IllegalArgumentException("ports count from 1 to " + MAX_PORT_NUMBER);
        }
        return new PortSelector(matcher.group(1), port, number(matcher.group(3)));
    }

    private static int number(String digits) {
        return digits == null ? ANY : Integer.parseInt(digits);
    }

    @Override
    public String toString() {
        return device + (port == ANY ? "" : ":" + port) + (gidIndex == ANY ? "" : ":" + gidIndex);
    }
}
