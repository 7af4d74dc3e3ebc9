// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Name of a region's file, by which the owner publishes its inode and length to peers of the host.
 *
 * <pre>
 *  &lt;region id&gt;-&lt;inode&gt;-&lt;bytes&gt;          three decimal numbers
 * </pre>
 *
 * A file gets this name once all of its pages are reserved. Only the owner can enter its directory, so only the owner
 * gives such names there.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param regionId number of the region in its pool
 * @param inode {@code st_ino} of the file
 * @param bytes length of the file
 */
record RegionFileName(int regionId, long inode, long bytes) {
    private static final Pattern FORMAT = Pattern.compile("(0|[1-9]\\d{0,9})-(\\d{1,20})-([1-9]\\d{0,18})");

    /** Parses a name; empty if it is none of a region. */
    static Optional<RegionFileName> parse(String name) {
        Matcher matcher = FORMAT.matcher(name);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        try {
            return Optional.of(new RegionFileName(
                    Integer.parseInt(matcher.group(1)),
                    Long.parseUnsignedLong(matcher.group(2)),
                    Long.parseLong(matcher.group(3))));
        } catch (NumberFormatException tooLarge) {
            return Optional.empty();
        }
    }

    @Override
    public String toString() {
        return regionId + "-" + Long.toUnsignedString(inode) + "-" + bytes;
    }
}
