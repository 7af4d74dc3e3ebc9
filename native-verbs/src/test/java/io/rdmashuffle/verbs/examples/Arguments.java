// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The command line of a program: options, written {@code --name value} or {@code --name=value}, and at most one
 * operand, which is the server that a client connects to.
 *
 * <p><b>Threading:</b> immutable.
 */
final class Arguments {
    private static final int MAX_SECONDS = 86_400;

    private final Map<Option, String> values;
    private final @Nullable String operand;

    private Arguments(Map<Option, String> values, @Nullable String operand) {
        this.values = values;
        this.operand = operand;
    }

    /**
     * Reads a command line.
     *
     * @param known the options that the program has
     */
    static Arguments parse(List<Option> known, String... words) throws MisuseException {
        Map<Option, String> values = new EnumMap<>(Option.class);
        String operand = null;
        for (int i = 0; i < words.length; i++) {
            String word = words[i];
            if (!word.startsWith("-")) {
                if (operand != null) {
                    throw new MisuseException("two servers, " + operand + " and " + word + ": there can be one");
                }
                operand = word;
                continue;
            }
            int equals = word.indexOf('=');
            Option option = find(known, equals < 0 ? word : word.substring(0, equals));
            String value = equals < 0 ? "" : word.substring(equals + 1);
            if (option.takesValue() && equals < 0) {
                i++;
                value = i < words.length ? words[i] : "";
            }
            if (option.takesValue() == value.isEmpty()) {
                throw new MisuseException(
                        option.word() + (option.takesValue() ? " needs a value: " + option.value() : " has no value"));
            }
            if (values.put(option, value) != null) {
                throw new MisuseException(option.word() + " is there twice");
            }
        }
        return new Arguments(values, operand);
    }

    private static Option find(List<Option> known, String word) throws MisuseException {
        for (Option option : known) {
            if (option.word().equals(word)) {
                return option;
            }
        }
        throw new MisuseException("unknown option " + word + "; there are: "
                + known.stream().map(Option::word).collect(Collectors.joining(" ")));
    }

    boolean has(Option option) {
        return values.containsKey(option);
    }

    /** Returns the server to connect to; null on the server itself. */
    @Nullable
    HostPort server() throws MisuseException {
        if (operand == null) {
            return null;
        }
        HostPort server = HostPort.parse("server", operand);
        if (server.host().isEmpty()) {
            throw new MisuseException("server " + operand + ": the host is missing");
        }
        return server;
    }

    /** Returns where to listen; an empty host if that was not said. */
    HostPort listen() throws MisuseException {
        String value = values.get(Option.LISTEN);
        return value == null ? new HostPort("", HostPort.DEFAULT_PORT) : HostPort.parse(Option.LISTEN.word(), value);
    }

    @Nullable
    String text(Option option) {
        return values.get(option);
    }

    /** Returns the one of these words that was given, the first one if none was. */
    String choice(Option option, List<String> words) throws MisuseException {
        String value = values.getOrDefault(option, words.get(0));
        if (!words.contains(value)) {
            throw new MisuseException(option.word() + " " + value + ": must be one of " + String.join(", ", words));
        }
        return value;
    }

    /** Returns a whole number within bounds. */
    int number(Option option, int otherwise, int least, int most) throws MisuseException {
        String value = values.get(option);
        return value == null ? otherwise : parse(option, value, value, 1, least, most);
    }

    /** Returns a number of bytes within bounds; k and m stand for KiB and MiB. */
    int bytes(Option option, int otherwise, int least, int most) throws MisuseException {
        String value = values.get(option);
        if (value == null) {
            return otherwise;
        }
        int unit = switch (value.charAt(value.length() - 1)) {
            case 'k', 'K' -> 1 << 10;
            case 'm', 'M' -> 1 << 20;
            default -> 1;
        };
        String digits = unit == 1 ? value : value.substring(0, value.length() - 1);
        return parse(option, value, digits, unit, least, most);
    }

    private static int parse(Option option, String value, String digits, int unit, int least, int most)
            throws MisuseException {
        try {
            long number = Math.multiplyExact(Long.parseLong(digits), (long) unit);
            if (number >= least && number <= most) {
                return (int) number;
            }
        } catch (ArithmeticException | NumberFormatException e) {
            // the same answer
        }
        throw new MisuseException(
                option.word() + " " + value + ": must be a whole number from " + least + " to " + most);
    }

    /** Returns a number of seconds. */
    Duration seconds(Option option, int otherwise) throws MisuseException {
        return Duration.ofSeconds(number(option, otherwise, 1, MAX_SECONDS));
    }

    /** Refuses options that mean nothing here. */
    void refuse(String where, Option... options) throws MisuseException {
        for (Option option : options) {
            if (has(option)) {
                throw new MisuseException(option.word() + " means nothing " + where);
            }
        }
    }
}
