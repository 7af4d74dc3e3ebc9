// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.report;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The options of a command, written {@code --name value} or {@code --name=value}; there are no operands.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class CommandLine {
    /** As of sysexits.h: apart from the codes that say how a host is. */
    public static final int EXIT_MISUSE = 64;

    private final Map<String, List<String>> values;

    private CommandLine(Map<String, List<String>> values) {
        this.values = values;
    }

    /**
     * An option.
     *
     * @param name with its dashes
     * @param value what the value looks like; empty if there is none
     * @param meaning for the help
     */
    public record Option(String name, String value, String meaning) {
        private String help() {
            return String.format("  %-22s %s", (name + " " + value).strip(), meaning);
        }
    }

    /** Reads a command line; throws if an option is none of these, or lacks its value. */
    public static CommandLine parse(List<Option> known, List<String> words) throws MisuseException {
        Map<String, List<String>> values = new HashMap<>();
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            int equals = word.startsWith("--") ? word.indexOf('=') : -1;
            Option option = find(known, equals < 0 ? word : word.substring(0, equals));
            String value = equals < 0 ? "" : word.substring(equals + 1);
            boolean takesValue = !option.value().isEmpty();
            if (takesValue && equals < 0) {
                i++;
                value = i < words.size() ? words.get(i) : "";
            }
            if (takesValue == value.isEmpty()) {
                throw new MisuseException(
                        option.name() + (takesValue ? " needs a value: " + option.value() : " has no value"));
            }
            values.computeIfAbsent(option.name(), name -> new ArrayList<>()).add(value);
        }
        return new CommandLine(values);
    }

    private static Option find(List<Option> known, String word) throws MisuseException {
        for (Option option : known) {
            if (option.name().equals(word)) {
                return option;
            }
        }
        throw new MisuseException("unknown option " + word + "; there are: "
                + known.stream().map(Option::name).collect(Collectors.joining(" ")));
    }

    /** Writes one line for each option. */
    public static String help(List<Option> known) {
        return known.stream().map(Option::help).collect(Collectors.joining("\n"));
    }

    /** Returns whether an option is there. */
    public boolean has(String name) {
        return values.containsKey(name);
    }

    /** Returns all values of an option, in order. */
    public List<String> all(String name) {
        return values.getOrDefault(name, List.of());
    }

    /** Returns an integer within bounds, or the default without the option. */
    public int number(String name, int otherwise, int least, int most) throws MisuseException {
        List<String> given = all(name);
        if (given.isEmpty()) {
            return otherwise;
        }
        String value = given.get(given.size() - 1);
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // the same answer
        }
        throw new MisuseException(name + " " + value + ": must be an integer from " + least + " to " + most);
    }
}
