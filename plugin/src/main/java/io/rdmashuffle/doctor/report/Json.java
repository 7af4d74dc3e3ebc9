// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * JSON encoder (RFC 8259) of maps, collections, strings, numbers and booleans. The jar has no library for it, and where
 * the doctor runs there may be no Spark to bring one.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Json {
    private static final String STEP = "  ";

    private Json() {}

    /** Writes a value over several lines. */
    public static String write(@Nullable Object value) {
        return write(value, "\n");
    }

    private static String write(@Nullable Object value, String lineBreak) {
        String inner = lineBreak + STEP;
        if (value instanceof Map<?, ?> map) {
            return map.isEmpty()
                    ? "{}"
                    : map.entrySet().stream()
                            .map(entry -> text(String.valueOf(entry.getKey())) + ": " + write(entry.getValue(), inner))
                            .collect(Collectors.joining("," + inner, "{" + inner, lineBreak + "}"));
        }
        if (value instanceof Collection<?> list) {
            return list.isEmpty()
                    ? "[]"
                    : list.stream()
                            .map(element -> write(element, inner))
                            .collect(Collectors.joining("," + inner, "[" + inner, lineBreak + "]"));
        }
        if (value instanceof Double number && !Double.isFinite(number)) {
            return "null";
        }
        return value == null || value instanceof Number || value instanceof Boolean
                ? String.valueOf(value)
                : text(value.toString());
    }

    private static String text(String value) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '"', '\\' -> quoted.append('\\').append(c);
                case '\n' -> quoted.append("\\n");
                case '\t' -> quoted.append("\\t");
                default -> {
                    if (c < ' ') {
                        quoted.append(String.format("\\u%04x", (int) c));
                    } else {
                        quoted.append(c);
                    }
                }
            }
        }
        return quoted.append('"').toString();
    }
}
