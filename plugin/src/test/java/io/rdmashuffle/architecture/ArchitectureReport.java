// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Prints how many classes each package has, how many arrows lie between them, and how many of them use each other in a
 * circle.
 *
 * <pre>
 *  java -cp plugin/target/test-classes:$(cat plugin/target/test-classpath.txt) \
 *      io.rdmashuffle.architecture.ArchitectureReport plugin/target/classes native-verbs/target/classes
 * </pre>
 */
final class ArchitectureReport {
    private ArchitectureReport() {}

    /** Takes folders of class files, of any commit. */
    public static void main(String[] folders) {
        CodeGraph code = new CodeGraph(new ClassFileImporter()
                .importPaths(Arrays.stream(folders).map(Path::of).toList()));
        System.out.printf("%-44s %8s %8s %8s%n", "package (.. with those below)", "classes", "arrows", "circle");
        Set<String> wings = new TreeSet<>();
        for (String name : code.packages().nodes()) {
            print(name, code.inside(name));
            for (String other : code.packages().nodes()) {
                if (other.startsWith(name + ".")) {
                    wings.add(name);
                }
            }
        }
        wings.forEach(name -> print(name + "..", code.below(name)));
        wings.forEach(name -> print("packages of " + name + "..", packagesBelow(code, name)));
        print("packages", code.packages());
        code.packages().cycles().forEach(cycle -> System.out.println("package cycle: " + cycle));
        for (String name : code.packages().nodes()) {
            code.inside(name).cycles().forEach(cycle -> System.out.println("class cycle: " + cycle));
        }
    }

    private static Graph packagesBelow(CodeGraph code, String name) {
        return code.packages()
                .restrictedTo(code.packages().nodes().stream()
                        .filter(other -> (other + ".").startsWith(name + "."))
                        .collect(Collectors.toCollection(TreeSet::new)));
    }

    private static void print(String name, Graph graph) {
        List<Set<String>> cycles = graph.cycles();
        int largest = cycles.isEmpty() ? 0 : cycles.get(0).size();
        System.out.printf(
                Locale.ROOT, "%-44s %8d %8d %8d%n", name, graph.nodes().size(), graph.arrows(), largest);
    }
}
