// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a package-info says that its package may use: the sentence that begins with "May use".
 *
 * <p>Packages of this project stand in code tags, with or without {@code io.rdmashuffle.}; libraries by name.
 *
 * @param ours full names of packages of this project
 * @param libraries as they are called in {@link #LIBRARIES}
 */
record MayUse(Set<String> ours, Set<String> libraries) {
    /** What a library is called, and where its classes lie. Netty, Scala and servlets come with Spark. */
    static final Map<String, List<String>> LIBRARIES = Map.of(
            "Spark", List.of("org.apache.spark.", "scala.", "io.netty.", "jakarta.servlet."),
            "SLF4J", List.of("org.slf4j"),
            "Kryo", List.of("com.esotericsoftware.kryo"),
            "Dropwizard", List.of("com.codahale.metrics"),
            "Jackson", List.of("com.fasterxml.jackson"),
            "jnr-ffi", List.of("jnr."),
            "jffi", List.of("com.kenai.jffi"),
            "Unsafe", List.of("sun.misc"));

    private static final Pattern SENTENCE = Pattern.compile("May use (.*?)[.;](?=\\s|$)", Pattern.DOTALL);
    private static final Pattern CODE = Pattern.compile("\\{@code\\s+([^}]*)}");

    /** Finds the packages below a source folder, by full name. */
    static Set<String> packagesIn(Path sources) {
        try (var files = Files.walk(sources)) {
            Set<String> names = new TreeSet<>();
            files.filter(file -> file.endsWith("package-info.java"))
                    .map(file -> sources.relativize(file.getParent()).toString().replace('/', '.'))
                    .forEach(names::add);
            return names;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads the sentence of one package. */
    static MayUse of(Path sources, String packageName) {
        Path file = sources.resolve(packageName.replace('.', '/')).resolve("package-info.java");
        try {
            return parse(packageName, Files.readString(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads the sentence out of a package-info. */
    static MayUse parse(String packageName, String source) {
        String text = source.replaceAll("(?m)^\\s*\\*", " ").replaceAll("\\s+", " ");
        Matcher sentence = SENTENCE.matcher(text);
        if (!sentence.find()) {
            throw new IllegalArgumentException(packageName + ": its package-info has no sentence \"May use ...\"");
        }
        Set<String> ours = new TreeSet<>();
        Matcher code = CODE.matcher(sentence.group(1));
        while (code.find()) {
            String name = code.group(1).trim();
            ours.add(name.startsWith(CodeGraph.ROOT) ? name : CodeGraph.ROOT + name);
        }
        String words = CODE.matcher(sentence.group(1)).replaceAll(" ");
        Set<String> libraries = new TreeSet<>();
        for (String library : LIBRARIES.keySet()) {
            if (Arrays.asList(words.split("[^\\w-]+")).contains(library)) {
                libraries.add(library);
            }
        }
        return new MayUse(ours, libraries);
    }

    /** Returns the library that a package of others belongs to; empty for the JDK and annotations. */
    static String libraryOf(String packageName) {
        for (Map.Entry<String, List<String>> library : LIBRARIES.entrySet()) {
            if (library.getValue().stream().anyMatch(prefix -> (packageName + ".").startsWith(prefix))) {
                return library.getKey();
            }
        }
        return packageName.isEmpty()
                        || packageName.matches("(javax?|jdk|org\\.jspecify|com\\.google\\.errorprone)\\b.*")
                ? ""
                : packageName;
    }
}
