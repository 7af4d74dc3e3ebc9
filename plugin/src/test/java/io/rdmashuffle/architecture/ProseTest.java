// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that documents, comments, messages and scripts avoid the phrases of {@code prose.txt}. */
@Tag("unit")
class ProseTest {
    private static final Pattern COMMENT_LINE = Pattern.compile("^\\s*(?:/\\*\\*?|\\*|//)\\s?(.*)$");
    private static final Pattern TRAILING_COMMENT = Pattern.compile("//\\s(.*)$");
    private static final Pattern LITERAL = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");

    @Test
    void avoidsListedPhrases() throws IOException {
        Map<Pattern, String> phrases = phrases();
        List<String> exemptions = resource("prose-exemptions.txt");
        List<String> unused = new ArrayList<>(exemptions);
        List<String> found = new ArrayList<>();
        for (String file : SourceTree.files(ProseTest::hasProse)) {
            List<String> lines = Files.readAllLines(SourceTree.root().resolve(file));
            for (int i = 0; i < lines.size(); i++) {
                String text = prose(file, lines.get(i));
                for (Map.Entry<Pattern, String> phrase : phrases.entrySet()) {
                    Matcher match = phrase.getKey().matcher(text);
                    if (match.find()) {
                        String exemption = file + ": " + match.group();
                        unused.remove(exemption);
                        if (!exemptions.contains(exemption)) {
                            found.add("%s:%d: \"%s\"; better: %s"
                                    .formatted(file, i + 1, match.group(), phrase.getValue()));
                        }
                    }
                }
            }
        }
        assertThat(found).as("see prose.txt").isEmpty();
        assertThat(unused).as("unneeded lines of prose-exemptions.txt").isEmpty();
    }

    private static boolean hasProse(String file) {
        return file.endsWith(".md")
                || file.endsWith(".java")
                || file.endsWith(".conf")
                || file.endsWith(".sh")
                || file.startsWith("bin/");
    }

    /** Returns the prose of a line: comments and string literals of code, all of a document. */
    private static String prose(String file, String line) {
        if (file.endsWith(".md")) {
            return line;
        }
        if (!file.endsWith(".java")) {
            return line.stripLeading().startsWith("#") ? line : "";
        }
        Matcher comment = COMMENT_LINE.matcher(line);
        if (comment.matches()) {
            return comment.group(1);
        }
        Matcher trailing = TRAILING_COMMENT.matcher(line);
        if (trailing.find()) {
            return trailing.group(1);
        }
        return LITERAL.matcher(line)
                .results()
                .map((MatchResult literal) -> literal.group(1))
                .collect(Collectors.joining(" "));
    }

    private static Map<Pattern, String> phrases() throws IOException {
        Map<Pattern, String> phrases = new LinkedHashMap<>();
        for (String line : resource("prose.txt")) {
            int tab = line.indexOf('\t');
            phrases.put(Pattern.compile(line.substring(0, tab), Pattern.CASE_INSENSITIVE), line.substring(tab + 1));
        }
        return phrases;
    }

    private static List<String> resource(String name) throws IOException {
        try (InputStream file = ProseTest.class.getResourceAsStream(name)) {
            return new String(Objects.requireNonNull(file).readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        }
    }
}
