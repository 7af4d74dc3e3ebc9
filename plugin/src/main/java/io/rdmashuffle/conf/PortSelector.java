package io.rdmashuffle.conf;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which port of which device, under which of its global identifiers.
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

    private static final Pattern TEXT = Pattern.compile("([A-Za-z0-9_.-]+)(?::([0-9]{1,3})(?::([0-9]{1,4}))?)?");

    /** Reads {@code mlx5_0}, {@code mlx5_0:1} or {@code mlx5_0:1:3}, several of them apart by commas; {@code auto} is none. */
    public static List<PortSelector> parse(String text) {
        if (text.equals(AUTO)) {
            return List.of();
        }
        List<PortSelector> selectors = new ArrayList<>();
        for (String part : text.split(",", -1)) {
            selectors.add(parseOne(part.strip()));
        }
        return selectors;
    }

    private static PortSelector parseOne(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not of the form device[:port[:gidIndex]]");
        }
        return new PortSelector(matcher.group(1), number(matcher.group(2)), number(matcher.group(3)));
    }

    private static int number(String digits) {
        return digits == null ? ANY : Integer.parseInt(digits);
    }

    @Override
    public String toString() {
        return device + (port == ANY ? "" : ":" + port) + (gidIndex == ANY ? "" : ":" + gidIndex);
    }
}
