// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Type of an entry's values, with parser and formatter.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param unit unit of a number, or the kind of another value
 * @param javaType class of the values
 * @param parser reads trimmed text; throws {@link IllegalArgumentException} with the problem
 * @param formatter inverse of {@code parser}
 * @param choices all allowed values if there are few, else empty
 * @param form format of values, in words; empty if range or choices describe it
 */
public record ValueType<T extends Comparable<T>>(
        String unit,
        Class<T> javaType,
        Function<String, T> parser,
        Function<T, String> formatter,
        List<String> choices,
        String form) {
    private static final Pattern NAMES_OF_DEVICES = Pattern.compile("[\\w.:;-]{1,64}(,[\\w.:;-]{1,64}){0,15}");
    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?[0-9]{1,19}");

    /** The path is announced to peers; with a file name it must also fit in the kernel's PATH_MAX (4096). */
    private static final int LONGEST_PATH = 1000;

    static final ValueType<Boolean> BOOLEAN = new ValueType<>(
            "boolean", Boolean.class, ValueType::parseBoolean, String::valueOf, List.of("true", "false"), "");
    static final ValueType<Long> BYTES =
            new ValueType<>("bytes", Long.class, ByteSize::parse, ByteSize::format, List.of(), "");
    static final ValueType<Duration> DURATION =
            new ValueType<>("duration", Duration.class, TimeSpan::parse, TimeSpan::format, List.of(), "");
    static final ValueType<String> PATH = new ValueType<>(
            "path", String.class, ValueType::parsePath, Function.identity(), List.of(), "an absolute path");
    static final ValueType<String> PORTS = new ValueType<>(
            "ports",
            String.class,
            ValueType::parsePorts,
            Function.identity(),
            List.of(),
            "`auto`, or device[:port[:gidIndex]], several apart by commas");
    static final ValueType<String> NAMES = new ValueType<>(
            "names",
            String.class,
            ValueType::parseNames,
            Function.identity(),
            List.of(),
            "names of letters, digits and `_-.:;`, several apart by commas");

    public ValueType {
        choices = List.copyOf(choices);
    }

    static ValueType<Integer> count(String unit) {
        return new ValueType<>(unit, Integer.class, ValueType::parseInt, String::valueOf, List.of(), "");
    }

    static <E extends Enum<E>> ValueType<E> oneOf(Class<E> type) {
        List<E> constants = Arrays.asList(type.getEnumConstants());
        return new ValueType<>(
                "choice",
                type,
                text -> constants.stream()
                        .filter(constant -> constant.name().equalsIgnoreCase(text))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("no such choice")),
                constant -> constant.name().toLowerCase(Locale.ROOT),
                constants.stream()
                        .map(constant -> constant.name().toLowerCase(Locale.ROOT))
                        .toList(),
                "");
    }

    /** Integers from a list, and a word that stands for 0. */
    static ValueType<Integer> numberOr(String unit, String word, Integer... numbers) {
        List<String> choices = Stream.concat(
                        Stream.of(word), Arrays.stream(numbers).map(String::valueOf))
                .toList();
        return new ValueType<>(
                unit,
                Integer.class,
                text -> {
                    if (!choices.contains(text)) {
                        throw new IllegalArgumentException("no such choice");
                    }
                    return text.equals(word) ? 0 : Integer.valueOf(text);
                },
                number -> number == 0 ? word : String.valueOf(number),
                choices,
                "");
    }

    /** Integers from 0 on, and a word that stands for -1. */
    static ValueType<Integer> countOr(String unit, String word) {
        return new ValueType<>(
                unit,
                Integer.class,
                text -> text.equals(word) ? -1 : parseCount(text),
                number -> number == -1 ? word : String.valueOf(number),
                List.of(),
                "");
    }

    /** Sizes from {@code leastBytes} on, and a word for a size that follows from others, which reads as 0. */
    static ValueType<Long> bytesOr(String word, long leastBytes) {
        return new ValueType<>(
                "bytes",
                Long.class,
                text -> text.equals(word) ? 0 : parseBytes(text, leastBytes),
                bytes -> bytes == 0 ? word : ByteSize.format(bytes),
                List.of(),
                "");
    }

    private static Long parseBytes(String text, long leastBytes) {
        long bytes = ByteSize.parse(text);
        if (bytes < leastBytes) {
            throw new IllegalArgumentException("below " + ByteSize.format(leastBytes));
        }
        return bytes;
    }

    private static Boolean parseBoolean(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("not a boolean");
        };
    }

    private static Integer parseCount(String text) {
        int number = parseInt(text);
        if (number < 0) {
            throw new IllegalArgumentException("below 0");
        }
        return number;
    }

    private static Integer parseInt(String text) {
        // Not whatever else Java takes for digits.
        if (!WHOLE_NUMBER.matcher(text).matches()) {
            throw new IllegalArgumentException("not an integer");
        }
        try {
            return Integer.valueOf(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("not a 32-bit integer", e);
        }
    }

    private static String parsePorts(String text) {
        List<PortSelector> unused = PortSelector.parse(text);
        return text;
    }

    private static String parseNames(String text) {
        if (!NAMES_OF_DEVICES.matcher(text).matches()) {
            throw new IllegalArgumentException("not a list of names");
        }
        return text;
    }

    private static String parsePath(String text) {
        if (!text.startsWith("/") || text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("not an absolute path");
        }
        if (text.length() > LONGEST_PATH) {
            throw new IllegalArgumentException("longer than " + LONGEST_PATH + " characters");
        }
        try {
            Path unused = Path.of(text);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("no path in the encoding of this system", e);
        }
        return text;
    }
}
