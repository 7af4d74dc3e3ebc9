// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

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

/**
 * The rows of {@code docs/guarantees.md}, and the tests that they name.
 *
 * @param rows as they are written, with the tests of each
 */
record GuaranteesDocument(Map<String, List<Named>> rows) {
    private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+(?:Test|IT|Contract))(?:#(\\w+))?`");
    /** Tags of tests that {@code bin/rxe-test} runs. */
    private static final Pattern DEVICE = Pattern.compile("@Tag\\(\"(rdma|fleet|fault)\"\\)");
    /** A tag of a class, with which all of its tests run in {@code bin/nightly} only. */
    private static final Pattern NIGHTLY = Pattern.compile("(?m)^@Tag\\(\"(nightly|long)\"\\)");

    /**
     * A test that a row names.
     *
     * @param method empty for all of the class
     * @param source of the class; empty if there is no such class
     */
    record Named(String className, String method, String source) {
        boolean isContract() {
            return className.endsWith("Contract");
        }

        boolean needsDevice() {
            return DEVICE.matcher(source).find();
        }

        /** Returns whether the gate leaves it to {@code bin/nightly}. */
        boolean isNightly() {
            if (NIGHTLY.matcher(source).find()) {
                return true;
            }
            Pattern tagged =
                    Pattern.compile("@Tag\\(\"(?:nightly|long)\"\\)\\s(?:    @.*\\s)*    void " + method + "\\(");
            return !method.isEmpty() && tagged.matcher(source).find();
        }

        boolean exists() {
            // A private method that a test calls has no report of its own.
            Pattern test = Pattern.compile("(?m)^    (?:default )?void " + method + "\\(");
            return !source.isEmpty()
                    && (method.isEmpty() || test.matcher(source).find());
        }

        @Override
        public String toString() {
            return method.isEmpty() ? className : className + "#" + method;
        }
    }

    static GuaranteesDocument read(Path root) throws IOException {
        Map<String, String> sources = testSources(root);
        Map<String, List<Named>> rows = new HashMap<>();
        for (String line : Files.readAllLines(root.resolve("docs/guarantees.md"))) {
            if (line.startsWith("| ") && !line.startsWith("| Promise |")) {
                Matcher named = TEST.matcher(line.substring(line.lastIndexOf("| ", line.length() - 2)));
                List<Named> tests = new ArrayList<>();
                while (named.find()) {
                    String method = named.group(2) == null ? "" : named.group(2);
                    tests.add(new Named(named.group(1), method, sources.getOrDefault(named.group(1), "")));
                }
                rows.put(line, tests);
            }
        }
        return new GuaranteesDocument(rows);
    }

    List<Named> tests() {
        return rows.values().stream().flatMap(List::stream).distinct().toList();
    }

    private static Map<String, String> testSources(Path root) throws IOException {
        Map<String, String> byClass = new HashMap<>();
        for (Path module : modules(root)) {
            try (Stream<Path> files = Files.walk(module.resolve("src/test/java"))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    byClass.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
                }
            }
        }
        return byClass;
    }

    /** Returns native-verbs, plugin and every module below integration-tests that has tests. */
    static List<Path> modules(Path root) throws IOException {
        List<Path> modules = new ArrayList<>(List.of(root.resolve("native-verbs"), root.resolve("plugin")));
        try (Stream<Path> folders = Files.list(root.resolve("integration-tests"))) {
            folders.filter(folder -> Files.isDirectory(folder.resolve("src/test/java")))
                    .forEach(modules::add);
        }
        return modules;
    }
}
