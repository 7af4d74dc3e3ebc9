// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Graph of dependencies between top-level classes; nested classes belong to their outermost class.
 *
 * <p><b>Threading:</b> immutable once built.
 */
final class CodeGraph {
    static final String ROOT = "io.rdmashuffle.";

    private final Graph classes = new Graph();
    private final Graph packages = new Graph();
    private final Map<String, Set<String>> classesOf = new TreeMap<>();
    private final Map<String, Set<String>> foreignOf = new TreeMap<>();

    CodeGraph(JavaClasses imported) {
        for (JavaClass type : imported) {
            if (isOurs(type) && !type.getSimpleName().equals("package-info")) {
                add(type);
            }
        }
    }

    private void add(JavaClass type) {
        String from = outermost(type).getName();
        classes.addNode(from);
        packages.addNode(type.getPackageName());
        classesOf
                .computeIfAbsent(type.getPackageName(), name -> new TreeSet<>())
                .add(from);
        for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
            JavaClass target = dependency.getTargetClass().getBaseComponentType();
            if (isOurs(target)) {
                classes.addArrow(from, outermost(target).getName());
                packages.addArrow(type.getPackageName(), target.getPackageName());
            } else {
                foreignOf
                        .computeIfAbsent(type.getPackageName(), name -> new TreeSet<>())
                        .add(target.getPackageName());
            }
        }
    }

    private static boolean isOurs(JavaClass type) {
        return type.getPackageName().startsWith(ROOT);
    }

    private static JavaClass outermost(JavaClass type) {
        Optional<JavaClass> around = type.getEnclosingClass();
        return around.map(CodeGraph::outermost).orElse(type);
    }

    /** Packages by full name. */
    Graph packages() {
        return packages;
    }

    /** Returns the packages of others that a package uses. */
    Set<String> foreign(String packageName) {
        return foreignOf.getOrDefault(packageName, Set.of());
    }

    /** Returns the classes of one package, and the arrows between them. */
    Graph inside(String packageName) {
        return classes.restrictedTo(classesOf.getOrDefault(packageName, Set.of()));
    }

    /** Returns the classes of a package and of those below it, and the arrows between them. */
    Graph below(String packageName) {
        return classes.restrictedTo(classesOf.entrySet().stream()
                .filter(entry -> (entry.getKey() + ".").startsWith(packageName + "."))
                .flatMap(entry -> entry.getValue().stream())
                .collect(Collectors.toCollection(TreeSet::new)));
    }
}
