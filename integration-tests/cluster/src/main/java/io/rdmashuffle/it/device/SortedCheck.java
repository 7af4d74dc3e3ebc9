// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Checks that rows come in the order of their keys, and sums up which rows they were.
 *
 * <p>The checksum of the order is over keys one after another; the checksum of the content is a sum over rows, so that
 * it does not depend on where a partition ends.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SortedCheck {
    private final CRC32 order = new CRC32();
    private String first = "";
    private String last = "";
    private long rows;
    private long content;

    /** Takes the next row; throws if its key is below the one before. */
    void add(String key, String value) {
        if (rows == 0) {
            first = key;
        } else if (key.compareTo(last) < 0) {
            throw new IllegalStateException("key " + key + " after " + last);
        }
        last = key;
        rows++;
        order.update(key.getBytes(StandardCharsets.US_ASCII));
        CRC32 row = new CRC32();
        row.update((key + value).getBytes(StandardCharsets.US_ASCII));
        content += row.getValue();
    }

    boolean isEmpty() {
        return rows == 0;
    }

    /** Returns {@code rows first last order content}. */
    String summary() {
        return rows + " " + first + " " + last + " " + Long.toHexString(order.getValue()) + " " + content;
    }

    /** Joins the summaries of partitions in order; throws if they overlap or rows are missing. */
    static String join(List<String> partitions, long expectedRows) {
        long rows = 0;
        long content = 0;
        String last = "";
        for (String partition : partitions) {
            String[] parts = partition.split(" ", -1);
            if (parts[1].compareTo(last) < 0) {
                throw new IllegalStateException("a partition begins with " + parts[1] + " after " + last);
            }
            last = parts[2];
            rows += Long.parseLong(parts[0]);
            content += Long.parseLong(parts[4]);
        }
        if (rows != expectedRows) {
            throw new IllegalStateException(rows + " rows came out, " + expectedRows + " went in");
        }
        return rows + " rows in order, content " + Long.toHexString(content);
    }
}
