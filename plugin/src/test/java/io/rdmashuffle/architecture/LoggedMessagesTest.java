// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ProjectFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The documentation explains every warning, and quotes only messages of the code. */
@Tag("unit")
class LoggedMessagesTest {
    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
    private static final Pattern REASON = Pattern.compile("(?m)^\\| `([^`]+)` \\| (?!.* \\| .* \\|$)");
    /** Line of a log, quoted in a sentence. */
    private static final Pattern LOG_LINE = Pattern.compile("`(?:INFO|WARN) \\.\\.\\. ([^`]+)`");
    /** Examples of arguments: ports, numbers, reasons. */
    private static final Pattern ARGUMENT = Pattern.compile(
            "\\[?mlx5_0:1( 10\\.0\\.0\\.7)?\\]?|\\b\\d[\\d.]*\\b(-SNAPSHOT| MiB)?|/dev/shm|\\b[A-Z]+(_[A-Z]+)+\\b");

    private static LoggedMessages messages;
    private static String page;

    @BeforeAll
    static void read() throws IOException {
        messages = LoggedMessages.read();
        page = Files.readString(ProjectFiles.path("docs/troubleshooting.md"));
    }

    @Test
    void pageExplainsEachWarning() {
        List<String> quotations = page.substring(page.indexOf("\n## By message"))
                .lines()
                .filter(line -> line.startsWith("| `") || line.startsWith("`"))
                .map(LoggedMessagesTest::firstQuoted)
                .sorted(Comparator.comparing(String::length).reversed())
                .toList();
        Set<String> used = new HashSet<>();
        List<String> unexplained = new ArrayList<>();
        messages.warnings()
                .forEach((warning, file) -> quotations.stream()
                        .filter(quotation -> warning.startsWith(withoutEllipsis(quotation)))
                        .findFirst()
                        .ifPresentOrElse(used::add, () -> {
                            // A port and what happened to it: nothing to quote, so its class is named.
                            if (!warning.equals("...: ...") || !page.contains("`" + file.replace(".java", "") + "`")) {
                                unexplained.add(file + ": " + warning);
                            }
                        }));
        assertThat(messages.warnings()).hasSizeGreaterThan(60);
        assertThat(unexplained)
                .as("warnings that docs/troubleshooting.md lacks")
                .isEmpty();
        assertThat(quotations.stream()
                        .filter(quotation -> !used.contains(quotation))
                        .filter(quotation -> !messages.contains(quotation)))
                .as("what docs/troubleshooting.md quotes and no code logs")
                .allMatch(quotation -> quotation.startsWith("mlx5_0:1 "))
                .hasSizeLessThan(2);
    }

    @Test
    void reasonsOfPageAreReasonsOfTheCode() {
        List<String> reasons =
                REASON.matcher(page).results().map(found -> found.group(1)).toList();
        assertThat(reasons).hasSizeGreaterThan(15).allMatch(messages::contains);
    }

    @Test
    void readmeQuotesLogLines() throws IOException {
        List<String> quotations = LOG_LINE.matcher(Files.readString(ProjectFiles.path("README.md")))
                .results()
                .map(found -> ARGUMENT.matcher(found.group(1)).replaceAll("..."))
                .toList();
        assertThat(quotations).isNotEmpty().allMatch(messages::contains);
    }

    private static String firstQuoted(String line) {
        return QUOTED.matcher(line)
                .results()
                .map(MatchResult::group)
                .findFirst()
                .orElseThrow()
                .replace("`", "");
    }

    private static String withoutEllipsis(String quotation) {
        return quotation.endsWith("...") ? quotation.substring(0, quotation.length() - 3) : quotation;
    }
}
