// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.commons.text.similarity.JaroWinklerSimilarity;
import org.scalatest.DoNotDiscover;

/**
 * The suites in Spark's tests jars, by simple and by fully qualified name, or by the end of that.
 *
 * <p>Only requested classes are loaded, without initialization.
 *
 * <p><b>Threading:</b> immutable.
 */
final class SuiteCatalogue {
    private static final int SUGGESTIONS = 6;
    private static final double SIMILAR = 0.82;
    private static final String JUNIT = "org.junit.jupiter.api.";
    private static final List<String> JUNIT_TESTS =
            List.of(JUNIT + "Test", JUNIT + "TestFactory", "org.junit.jupiter.params.ParameterizedTest");

    private final Map<String, List<String>> bySimpleName;
    private final ClassLoader loader;

    /** Knows the classes that are given by fully qualified name, and finds them with {@code loader}. */
    SuiteCatalogue(List<String> classNames, ClassLoader loader) {
        this.loader = loader;
        this.bySimpleName = new TreeMap<>();
        for (String name : classNames) {
            bySimpleName.computeIfAbsent(simple(name), key -> new ArrayList<>()).add(name);
        }
    }

    /** Lists the top-level classes under folders of unpacked jars. */
    static List<String> classNamesIn(List<Path> folders) throws IOException {
        List<String> names = new ArrayList<>();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                files.map(file -> folder.relativize(file).toString())
                        .filter(file -> file.endsWith(".class") && !file.contains("$") && !file.startsWith("META-INF"))
                        .map(file -> file.substring(0, file.length() - ".class".length())
                                .replace('/', '.'))
                        .forEach(names::add);
            }
        }
        return names;
    }

    /**
     * Finds a suite, or what runs in its place.
     *
     * @throws IllegalArgumentException if there is none or it cannot run; says which there are
     */
    List<Suite> resolve(String written, ShuffleMode fabric) {
        List<String> known = bySimpleName.getOrDefault(simple(written), List.of()).stream()
                .filter(name -> name.equals(written) || name.endsWith("." + written))
                .toList();
        if (known.isEmpty()) {
            throw new IllegalArgumentException(
                    "no suite '" + written + "' in Spark's tests jars" + suggestion(written));
        }
        if (known.size() > 1) {
            throw new IllegalArgumentException(
                    "'" + written + "' is one of " + String.join(", ", known) + "; give the full name");
        }
        String className = known.get(0);
        List<Suite> replacements = SuiteReplacement.of(className, fabric);
        return replacements.isEmpty()
                ? List.of(Suite.asItIs(name(className), className, engine(className)))
                : replacements;
    }

    /** Simple names do for reports where they are unique. */
    private String name(String className) {
        String simple = simple(className);
        return bySimpleName.getOrDefault(simple, List.of()).size() > 1 ? className : simple;
    }

    private Suite.Engine engine(String className) {
        Class<?> type = load(className);
        boolean scalaTest = org.scalatest.Suite.class.isAssignableFrom(type);
        if (!scalaTest && !hasJUnitTests(type)) {
            throw new IllegalArgumentException(
                    className + " is neither a ScalaTest suite nor has it JUnit tests" + suggestion(simple(className)));
        }
        if (Modifier.isAbstract(type.getModifiers())) {
            throw new IllegalArgumentException(
                    className + " is abstract; subclasses that run are: " + String.join(", ", subclasses(type)));
        }
        if (scalaTest && Arrays.stream(type.getConstructors()).noneMatch(made -> made.getParameterCount() == 0)) {
            throw new IllegalArgumentException(className + " has no constructor without parameters, so it cannot run");
        }
        return scalaTest ? Suite.Engine.SCALATEST : Suite.Engine.JUNIT;
    }

    private Class<?> load(String className) {
        try {
            return Class.forName(className, false, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            throw new IllegalArgumentException(className + " needs a class that is not there: " + e.getMessage(), e);
        }
    }

    private static boolean hasJUnitTests(Class<?> type) {
        for (Class<?> declaring = type; declaring != null; declaring = declaring.getSuperclass()) {
            for (Method method : declaring.getDeclaredMethods()) {
                for (Annotation annotation : method.getAnnotations()) {
                    if (JUNIT_TESTS.contains(annotation.annotationType().getName())) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private List<String> subclasses(Class<?> type) {
        List<String> found = new ArrayList<>();
        for (List<String> names : bySimpleName.values()) {
            for (String name : names) {
                if (name.endsWith("Suite") && isRunnable(type, name)) {
                    found.add(simple(name));
                }
            }
        }
        return found;
    }

    private boolean isRunnable(Class<?> type, String name) {
        try {
            Class<?> candidate = Class.forName(name, false, loader);
            return type.isAssignableFrom(candidate)
                    && !Modifier.isAbstract(candidate.getModifiers())
                    && !candidate.isAnnotationPresent(DoNotDiscover.class);
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    private String suggestion(String written) {
        JaroWinklerSimilarity similarity = new JaroWinklerSimilarity();
        String wanted = simple(written);
        List<String> near = bySimpleName.keySet().stream()
                .filter(name -> name.endsWith("Suite"))
                .filter(name -> similarity.apply(wanted, name) >= SIMILAR)
                .sorted(Comparator.comparing(name -> -similarity.apply(wanted, name)))
                .limit(SUGGESTIONS)
                .toList();
        return near.isEmpty() ? "" : "; near it are: " + String.join(", ", near);
    }

    private static String simple(String className) {
        return className.substring(className.lastIndexOf('.') + 1);
    }
}
