// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packages below {@code integration-tests}: each uses what its package-info says, and none uses one that uses it.
 */
@Tag("unit")
class PackagesTest {
    private static final String OURS = "io.rdmashuffle.";
    private static final Pattern IMPORT = Pattern.compile("^import (?:static )?([\\w.]+);", Pattern.MULTILINE);
    private static final Pattern PERMISSION = Pattern.compile("May use (.*?)\\. Must never ", Pattern.DOTALL);
    private static final Pattern NAMED = Pattern.compile("\\{@code (io\\.rdmashuffle[\\w.]*)}");
    /** What a permission calls the code of others. */
    private static final Map<String, String> LIBRARIES = Map.of(
            "org.apache.spark.", "Spark",
            "org.openjdk.jmh.", "JMH",
            "net.bytebuddy.", "Byte Buddy",
            "org.scalatest.", "ScalaTest",
            "org.junit.", "JUnit",
            "org.assertj.", "AssertJ",
            "io.trino.", "the generator");

    private final Map<String, String> permissions = new TreeMap<>();
    private final Map<String, Set<String>> imports = new TreeMap<>();

    @BeforeEach
    void read() throws IOException {
        Path modules = Workspace.find().root().resolve("integration-tests");
        List<Path> sources;
        try (Stream<Path> files = Files.walk(modules)) {
            sources = files.filter(file -> file.toString().contains("/src/main/java/")
                            && file.toString().endsWith(".java"))
                    .toList();
        }
        for (Path file : sources) {
            String text = Files.readString(file);
            String name = text.lines()
                    .filter(line -> line.startsWith("package "))
                    .findFirst()
                    .orElseThrow();
            String own = name.substring("package ".length(), name.length() - 1);
            if (file.endsWith("package-info.java")) {
                Matcher permission = PERMISSION.matcher(text.replaceAll("\\s*\\n \\*\\s*", " "));
                assertThat(permission.find())
                        .as("'May use ... Must never ...' in " + file)
                        .isTrue();
                permissions.put(own, permission.group(1));
            }
            Set<String> imported = imports.computeIfAbsent(own, key -> new TreeSet<>());
            IMPORT.matcher(text).results().map(match -> match.group(1)).forEach(imported::add);
        }
        assertThat(permissions).hasSizeGreaterThan(15).containsOnlyKeys(imports.keySet());
    }

    private Set<String> importsOf(String own) {
        return imports.getOrDefault(own, Set.of());
    }

    /** Returns the packages below integration-tests that a package imports from. */
    private Set<String> used(String own) {
        return importsOf(own).stream()
                .map(this::packageOf)
                .filter(other -> permissions.containsKey(other) && !other.equals(own))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns the longest of these packages that a name begins with; empty for the plugin's and those of others. */
    private String packageOf(String imported) {
        String name = imported;
        while (!permissions.containsKey(name) && name.contains(".")) {
            name = name.substring(0, name.lastIndexOf('.'));
        }
        return permissions.containsKey(name) ? name : "";
    }

    @Test
    void packagesUseWhatTheySay() {
        permissions.forEach((own, permission) -> {
            Set<String> named = NAMED.matcher(permission)
                    .results()
                    .map(match -> match.group(1))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(named).as("named by %s, and imported", own).isEqualTo(used(own));
            for (String imported : importsOf(own)) {
                if (imported.startsWith(OURS) && packageOf(imported).isEmpty()) {
                    assertThat(permission).as("%s imports %s", own, imported).contains("the plugin");
                }
                LIBRARIES.forEach((prefix, word) -> {
                    if (imported.startsWith(prefix)) {
                        assertThat(permission)
                                .as("%s imports %s", own, imported)
                                .contains(word);
                    }
                });
            }
        });
    }

    @Test
    void packagesHaveNoCycles() {
        Map<String, Set<String>> left = new TreeMap<>();
        permissions.keySet().forEach(own -> left.put(own, used(own)));
        Set<String> free;
        do {
            free = left.entrySet().stream()
                    .filter(entry -> entry.getValue().isEmpty())
                    .map(Map.Entry::getKey)
                    .collect(Collectors.toSet());
            left.keySet().removeAll(free);
            for (Set<String> others : left.values()) {
                others.removeAll(free);
            }
        } while (!free.isEmpty());
        assertThat(left).as("packages in cycles, and their dependencies").isEmpty();
    }
}
