// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import io.rdmashuffle.conf.ProjectFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * String literals of the sources of plugin and native-verbs, adjacent ones joined, with {@code ...} for each argument.
 *
 * <p><b>Threading:</b> immutable.
 */
final class LoggedMessages {
    private static final String LITERAL = "\"((?:[^\"\\\\\\n]|\\\\.)*)\"";
    private static final Pattern JOINED = Pattern.compile(LITERAL + "(?:\\s*\\+\\s*" + LITERAL + ")*");
    /** {@code reportShortage} is the pool's, which warns once and logs at DEBUG afterwards. */
    private static final Pattern WARNING = Pattern.compile(
            "(?:LOG\\s*\\.(?:warn|error)|reportShortage)\\(\\s*(" + JOINED.pattern() + "|[A-Z][A-Z_]+)");

    private final Set<String> literals = new LinkedHashSet<>();
    private final Map<String, String> warnings = new LinkedHashMap<>();

    private LoggedMessages() {}

    static LoggedMessages read() throws IOException {
        LoggedMessages messages = new LoggedMessages();
        for (String module : List.of("plugin", "native-verbs")) {
            try (Stream<Path> files = Files.walk(ProjectFiles.path(module + "/src/main/java"))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    messages.add(file.getFileName().toString(), Files.readString(file));
                }
            }
        }
        return messages;
    }

    private void add(String file, String source) {
        JOINED.matcher(source).results().forEach(found -> literals.add(template(found.group())));
        Matcher warning = WARNING.matcher(source);
        while (warning.find()) {
            String argument = warning.group(1);
            warnings.put(argument.startsWith("\"") ? template(argument) : constant(argument, source), file);
        }
    }

    private static String constant(String name, String source) {
        Matcher value = Pattern.compile("\\b" + name + "\\s*=\\s*(" + JOINED.pattern() + ")")
                .matcher(source);
        if (!value.find()) {
            throw new IllegalStateException("the text of the warning " + name + " is not in its own file");
        }
        return template(value.group(1));
    }

    private static String template(String code) {
        StringBuilder text = new StringBuilder();
        Pattern.compile(LITERAL).matcher(code).results().forEach(part -> text.append(part.group(1)));
        return text.toString().replace("{}", "...").replace("%s", "...").replace("%d", "...");
    }

    /** Returns the text of each message of level WARN or ERROR, and the file that logs it. */
    Map<String, String> warnings() {
        return warnings;
    }

    /** Returns whether the parts of a quotation, apart by {@code ...}, follow one another in one literal. */
    boolean contains(String quotation) {
        List<String> parts = new ArrayList<>(List.of(quotation.split("\\.\\.\\.")));
        parts.replaceAll(part -> part.replaceAll("^[ :;]+|[ :;]+$", ""));
        return literals.stream().anyMatch(literal -> {
            int from = 0;
            for (String part : parts) {
                int at = literal.indexOf(part, from);
                if (at < 0) {
                    return false;
                }
                from = at + part.length();
            }
            return true;
        });
    }
}
