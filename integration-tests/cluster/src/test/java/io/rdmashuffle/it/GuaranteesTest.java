// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.it.GuaranteesDocument.Named;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every row of {@code docs/guarantees.md} names tests, and they exist; {@link GuaranteesIT} asks whether they ran. */
@Tag("unit")
class GuaranteesTest {
    @Test
    void everyRowNamesTestsThatExist() throws IOException {
        Path root = Workspace.find().root();
        assertThat(GuaranteesDocument.modules(root)).hasSize(10);
        GuaranteesDocument document = GuaranteesDocument.read(root);
        assertThat(document.rows()).hasSizeGreaterThan(30);
        document.rows().forEach((row, tests) -> {
            assertThat(tests).as("tests in: %s", row).isNotEmpty();
            assertThat(tests).as(row).allMatch(Named::exists);
        });
    }

    /** {@link GuaranteesIT} reads the reports of all modules, and would find none of one that is built later. */
    @Test
    void modulesOfNamedTestsAreBuiltFirst() throws IOException {
        Path root = Workspace.find().root();
        String pom = Files.readString(root.resolve("integration-tests/pom.xml"));
        List<String> late = Pattern.compile("<module>(.+)</module>")
                .matcher(pom.substring(pom.indexOf("<module>cluster</module>") + 1))
                .results()
                .map(module -> module.group(1))
                .filter(module -> !module.equals("cluster"))
                .toList();
        List<String> named = GuaranteesDocument.read(root).tests().stream()
                .map(test -> test.className() + ".java")
                .toList();
        for (String module : late) {
            try (Stream<Path> files = Files.walk(root.resolve("integration-tests/" + module + "/src/test/java"))) {
                assertThat(files.map(file -> file.getFileName().toString()))
                        .as("tests of %s, which is built after cluster", module)
                        .doesNotContainAnyElementsOf(named);
            }
        }
    }

    /** The gate runs none of these, so {@link GuaranteesIT} must not wait for their reports. */
    @Test
    void tagsOfAClassAndOfAMethodLeaveATestToTheNightlyRun() {
        String nightly = "@Tag(\"nightly\")\n";
        String body = "class SomeIT {\n    @Test\n    %s    void test() {}\n}\n";
        assertThat(new Named("SomeIT", "test", nightly + body.formatted("")).isNightly())
                .isTrue();
        assertThat(new Named("SomeIT", "test", body.formatted(nightly)).isNightly())
                .isTrue();
        assertThat(new Named("SomeIT", "test", body.formatted("")).isNightly()).isFalse();
    }
}
