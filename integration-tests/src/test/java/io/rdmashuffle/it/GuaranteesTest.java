package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        for (String module : List.of("native-verbs", "plugin", "integration-tests")) {
            try (Stream<Path> files = Files.walk(root.resolve(module).resolve("src/test/java"))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    byClass.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
                }
            }
        }
        return byClass;
    }
}
