// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import java.util.regex.Pattern;

/**
 * The LIMIT at the end of a query: of rows that its ORDER BY ranks alike, it keeps whichever came first, so that two
 * right runs may differ there.
 */
final class FinalLimit {
    private static final Pattern AT_END = Pattern.compile("\\blimit\\s+\\d+\\s*;?\\s*$", Pattern.CASE_INSENSITIVE);

    private FinalLimit() {}

    static boolean in(String query) {
        return AT_END.matcher(query).find();
    }

    static String removedFrom(String query) {
        return AT_END.matcher(query).replaceFirst("");
    }
}
