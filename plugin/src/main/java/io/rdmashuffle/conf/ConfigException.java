// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.List;

/** Thrown at start when the configuration cannot be used; the message holds one line per problem. */
public final class ConfigException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    private final transient List<String> problems;

    ConfigException(List<String> problems) {
        super(message(problems));
        this.problems = List.copyOf(problems);
    }

    /** Returns one line per problem, each naming key, value, allowed range and unit. */
    public List<String> problems() {
        return problems;
    }

    private static String message(List<String> problems) {
        if (problems.size() == 1) {
            return problems.get(0);
        }
        return problems.size() + " settings cannot be used:\n  " + String.join("\n  ", problems);
    }
}
