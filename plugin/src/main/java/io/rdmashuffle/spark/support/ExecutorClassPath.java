// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import java.io.File;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.jspecify.annotations.Nullable;

/**
 * The driver's check that executors can load this jar. An executor that cannot load its shuffle manager exits, and
 * Spark replaces it until the application fails, so the driver has to choose another shuffle before executors start.
 *
 * <p>The check reads settings only: an entry with this jar's file name, a folder or a wildcard counts as this jar.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Source:</b> {@code CoarseGrainedExecutorBackend.run} of Spark 3.5 creates the {@code SparkEnv}, and with it the
 * manager, before {@code Executor.updateDependencies} fetches jars; since Spark 4.0 (SPARK-45762) the manager comes
 * after.
 *
 * @param setting Spark's configuration
 * @param jar from which this class was loaded; null for a folder of classes, which no check can follow
 * @param sparkJar from which Spark was loaded; null if unknown
 * @param fetchesJarsFirst whether executors fetch {@code spark.jars} before they create their manager
 */
public record ExecutorClassPath(
        Function<String, @Nullable String> setting,
        @Nullable Path jar,
        @Nullable Path sparkJar,
        boolean fetchesJarsFirst) {
    private static final List<String> CLASS_PATHS =
            List.of("spark.executor.extraClassPath", "spark.executor.defaultExtraClassPath");

    /** Lists that each cluster manager has on the class path of an executor's process. */
    private static final List<String> PROCESS_JARS = List.of("spark.yarn.jars");

    private static final List<String> FETCHED_JARS =
            List.of("spark.jars", "spark.yarn.dist.jars", "spark.yarn.secondary.jars");

    /** Name under which YARN localizes the application's own jar. */
    private static final String YARN_APPLICATION = "__app__.jar";

    /** Returns the check for this driver. */
    public static ExecutorClassPath of(Function<String, @Nullable String> setting, String sparkVersion) {
        return new ExecutorClassPath(
                setting, jarOf(ExecutorClassPath.class), jarOf(SparkEnv.class), !sparkVersion.startsWith("3."));
    }

    private static @Nullable Path jarOf(Class<?> type) {
        CodeSource source = type.getProtectionDomain().getCodeSource();
        if (source == null || source.getLocation() == null) {
            return null;
        }
        try {
            Path path = Path.of(source.getLocation().toURI());
            return path.toString().endsWith(".jar") ? path : null;
        } catch (URISyntaxException | RuntimeException e) {
            // Not a file: a class loader of the user's own.
            return null;
        }
    }

    /** Returns the reason why executors cannot load this jar, with the remedy; empty if they can or might. */
    public Optional<String> reasonAgainst() {
        String master = value("spark.master");
        if (jar == null || master.isEmpty() || master.matches("local(\\[.*])?") || isAmongSparksJars() || isNamed()) {
            return Optional.empty();
        }
        String name = String.valueOf(jar.getFileName());
        return Optional.of(
                fetchesJarsFirst
                        ? "executors cannot load " + name + "; add it to the application with --jars " + jar
                        : "executors of Spark 3.5 create their shuffle manager before they fetch --jars; copy " + name
                                + " to every host and set spark.executor.extraClassPath to its path");
    }

    /** Returns whether the jar lies beside Spark's, so that the installation or image of executors has it, too. */
    private boolean isAmongSparksJars() {
        return jar != null
                && sparkJar != null
                && jar.getParent() != null
                && jar.getParent().equals(sparkJar.getParent());
    }

    private boolean isNamed() {
        String distributed = System.getenv("SPARK_DIST_CLASSPATH");
        Stream<String> onClassPath = Stream.concat(
                        CLASS_PATHS.stream().map(this::value), Stream.ofNullable(distributed))
                .flatMap(path -> Stream.of(path.split(File.pathSeparator, -1)));
        Stream<String> inProcess = entries(PROCESS_JARS);
        Stream<String> fetched = fetchesJarsFirst ? entries(FETCHED_JARS) : Stream.empty();
        return !value("spark.yarn.archive").isEmpty()
                || Stream.concat(onClassPath, inProcess).anyMatch(this::mayHold)
                || fetched.anyMatch(this::isThisJar)
                || (fetchesJarsFirst && jar != null && jar.endsWith(YARN_APPLICATION));
    }

    private Stream<String> entries(List<String> keys) {
        return keys.stream().flatMap(key -> Stream.of(value(key).split(",", -1)));
    }

    private boolean mayHold(String entry) {
        String trimmed = entry.trim();
        return !trimmed.isEmpty() && (!trimmed.endsWith(".jar") || isThisJar(trimmed));
    }

    /** Returns whether an entry, a path or a URI, has this jar's file name; a fragment renames the file. */
    private boolean isThisJar(String entry) {
        String trimmed = entry.trim();
        String path = trimmed;
        try {
            URI uri = new URI(trimmed);
            path = uri.getFragment() != null ? uri.getFragment() : uri.getPath() != null ? uri.getPath() : trimmed;
        } catch (URISyntaxException e) {
            // A path with characters that a URI must not have.
            path = trimmed;
        }
        String name = path.substring(path.lastIndexOf('/') + 1);
        return jar != null
                && jar.getFileName() != null
                && name.equals(jar.getFileName().toString());
    }

    private String value(String key) {
        String value = setting.apply(key);
        return value == null ? "" : value;
    }
}
