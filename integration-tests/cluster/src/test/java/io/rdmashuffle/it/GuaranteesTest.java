// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every row of {@code docs/guarantees.md} names tests, and they exist. */
@Tag("unit")
class GuaranteesTest {
    private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+(?:Test|IT|Contract))(?:#(\\w+))?`");

    @Test
    void everyRowNamesTestsThatExist() throws IOException {
        Path root = Workspace.find().root();
        Map<String, String> sources = testSources(root);
        List<String> rows = Files.readAllLines(root.resolve("docs/guarantees.md")).stream()
                .filter(line -> line.startsWith("| "))
                .filter(line -> !line.startsWith("| Promise |"))
                .toList();
        assertThat(rows).hasSizeGreaterThan(30);
        for (String row : rows) {
            Matcher named = TEST.matcher(row.substring(row.lastIndexOf("| ", row.length() - 2)));
            int tests = 0;
            while (named.find()) {
                tests++;
                assertThat(sources).as(row).containsKey(named.group(1));
                String method = named.group(2) == null ? "" : "void " + named.group(2) + "(";
                assertThat(sources.get(named.group(1))).as(row).contains(method);
            }
            assertThat(tests).as("tests in: %s", row).isPositive();
        }
    }

    private static Map<String, String> testSources(Path root) throws IOException {
        Map<String, String> byClass = new HashMap<>();
        for (Path sources : testSourceFolders(root)) {
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    byClass.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
                }
            }
        }
        return byClass;
    }

    /** Those of native-verbs and plugin, and of every module below integration-tests. */
    private static List<Path> testSourceFolders(Path root) throws IOException {
        List<Path> modules = new ArrayList<>(List.of(root.resolve("native-verbs"), root.resolve("plugin")));
        try (Stream<Path> folders = Files.list(root.resolve("integration-tests"))) {
            folders.forEach(modules::add);
        }
        List<Path> sources = modules.stream()
                .map(module -> module.resolve("src/test/java"))
                .filter(Files::isDirectory)
                .toList();
        assertThat(sources).hasSize(7);
        return sources;
    }
}
