// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Paths of build results, generated data and logs in the repository.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param root the repository's folder, absolute
 */
public record Workspace(Path root) {
    private static final String MARKER = "integration-tests/pom.xml";

    public Workspace {
        root = root.toAbsolutePath().normalize();
        if (!Files.isRegularFile(root.resolve(MARKER))) {
            throw new IllegalArgumentException(root + " is not this repository: it has no " + MARKER);
        }
    }

    /** Finds the repository: system property {@code rdmashuffle.root}, else the working folder and its parents. */
    public static Workspace find() {
        String named = System.getProperty("rdmashuffle.root");
        if (named != null) {
            return new Workspace(Path.of(named));
        }
        Path working = Path.of("").toAbsolutePath();
        for (Path folder = working; folder != null; folder = folder.getParent()) {
            if (Files.isRegularFile(folder.resolve(MARKER))) {
                return new Workspace(folder);
            }
        }
        throw new IllegalStateException("no repository at or above " + working + "; set -Drdmashuffle.root");
    }

    /** Returns the folder that a module below {@code integration-tests} builds into, and where its tools keep logs. */
    public Path target(String module) {
        return root.resolve("integration-tests").resolve(module).resolve("target");
    }

    /** Returns the folder of generated data, outside of every {@code target} so that a clean build keeps it. */
    public Path data() {
        return root.resolve(".data");
    }

    /** Returns the one jar that a user adds to Spark. */
    public Path pluginJar() {
        return jar(root.resolve("plugin/target"), "rdma-shuffle-spark-");
    }

    /**
     * Returns the class path that an application adds to Spark's: the plugin, the harness, and more.
     *
     * @param modules names of modules below {@code integration-tests} whose jars follow
     */
    public String applicationClassPath(String... modules) {
        return Stream.concat(
                        Stream.of(pluginJar(), jar("harness")),
                        Stream.of(modules).map(this::jar))
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** Returns the jar of the main classes of a module below {@code integration-tests}. */
    public Path jar(String module) {
        return jar(target(module), "rdma-shuffle-" + module + "-");
    }

    /** Lists the folders of classes that were built below {@code integration-tests}, those of tests first. */
    public List<Path> classFolders() {
        try (Stream<Path> modules = Files.list(root.resolve("integration-tests"))) {
            List<Path> targets =
                    modules.map(module -> module.resolve("target")).sorted().toList();
            return Stream.of("test-classes", "classes")
                    .flatMap(kind -> targets.stream().map(target -> target.resolve(kind)))
                    .filter(Files::isDirectory)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list the modules of " + root, e);
        }
    }

    private static Path jar(Path folder, String prefix) {
        List<Path> found = jarsIn(folder).stream()
                .filter(path -> path.getFileName().toString().startsWith(prefix))
                .toList();
        if (found.size() != 1) {
            throw new IllegalStateException("expected one " + prefix + "*.jar in " + folder + " but found " + found
                    + "; run: mvn -DskipTests clean package");
        }
        return found.get(0);
    }

    /** Lists the jars of a folder in the order of their names; none if there is no such folder. */
    static List<Path> jarsIn(Path folder) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(path -> path.getFileName().toString().endsWith(".jar"))
                    .filter(path -> !path.getFileName().toString().matches(".*-(sources|javadoc|tests)\\.jar"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + folder, e);
        }
    }

    /** Deletes a folder with all that is in it; nothing if it is not there. */
    public static void deleteTree(Path tree) throws IOException {
        if (!Files.exists(tree)) {
            return;
        }
        List<Path> deepestFirst;
        try (Stream<Path> paths = Files.walk(tree)) {
            deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : deepestFirst) {
            Files.deleteIfExists(path);
        }
    }
}
