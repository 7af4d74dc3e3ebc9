// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the Markdown documents: links lead to files and headings, and prose is wrapped. */
@Tag("unit")
class DocumentsTest {
    private static final int MAX_COLUMNS = 100;
    private static final int MAX_README_LINES = 100;
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("^#+ (.*)$");

    @Test
    void linksLeadToFilesAndHeadings() throws IOException {
        Map<Path, Set<String>> anchors = new HashMap<>();
        for (String file : documents()) {
            anchors.put(Path.of(file), anchors(file));
        }
        List<String> broken = new ArrayList<>();
        for (String file : documents()) {
            Path document = Path.of("/").resolve(file);
            for (String link : links(file)) {
                int hash = link.indexOf('#');
                String path = hash < 0 ? link : link.substring(0, hash);
                Path target = path.isEmpty()
                        ? Path.of(file)
                        : Path.of("/").relativize(document.resolveSibling(path).normalize());
                if (!Files.exists(SourceTree.root().resolve(target))) {
                    broken.add(file + ": " + link);
                } else if (hash >= 0
                        && anchors.containsKey(target)
                        && !anchors.get(target).contains(link.substring(hash + 1))) {
                    broken.add(file + ": no heading for " + link);
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void proseIsWrapped() throws IOException {
        List<String> tooLong = new ArrayList<>();
        for (String file : documents()) {
            boolean code = false;
            int number = 0;
            for (String line : Files.readAllLines(SourceTree.root().resolve(file))) {
                number++;
                code ^= line.stripLeading().startsWith("```");
                boolean mayBeLong = code || line.startsWith("|") || line.startsWith("    ") || line.contains("](");
                if (line.length() > MAX_COLUMNS && !mayBeLong) {
                    tooLong.add(file + ":" + number);
                }
            }
        }
        assertThat(tooLong).isEmpty();
    }

    @Test
    void readmeIsShort() throws IOException {
        assertThat(Files.readAllLines(SourceTree.root().resolve("README.md")))
                .hasSizeLessThanOrEqualTo(MAX_README_LINES);
    }

    @Test
    void chartHasTheValuesOfItsTable() throws IOException {
        String chart = Files.readString(SourceTree.root().resolve("docs/images/speedup.svg"));
        List<String> rows = Files.readAllLines(SourceTree.root().resolve("docs/benchmarks/speedup.csv"));
        assertThat(rows)
                .hasSizeGreaterThan(10)
                .filteredOn(row -> !row.startsWith("#"))
                .allSatisfy(row -> assertThat(chart)
                        .as("docs/images/speedup.svg is outdated: make docs")
                        .contains(Arrays.stream(row.split(","))
                                .map(cell -> ">" + cell + "<")
                                .toList()));
    }

    private static List<String> documents() throws IOException {
        return SourceTree.files(file -> file.endsWith(".md"));
    }

    private static List<String> links(String file) throws IOException {
        return LINK.matcher(Files.readString(SourceTree.root().resolve(file)))
                .results()
                .map((MatchResult link) -> link.group(1))
                .filter(link -> !link.startsWith("http"))
                .toList();
    }

    /** Returns the anchors of a document's headings, as GitHub makes them. */
    private static Set<String> anchors(String file) throws IOException {
        Set<String> anchors = new HashSet<>();
        for (String line : Files.readAllLines(SourceTree.root().resolve(file))) {
            HEADING.matcher(line)
                    .results()
                    .map((MatchResult heading) -> heading.group(1)
                            .toLowerCase(Locale.ROOT)
                            .replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                            .replaceAll("[^\\w\\- ]", "")
                            .replace(' ', '-'))
                    .forEach(anchors::add);
        }
        return anchors;
    }
}
