// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import java.io.File;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Directory that the cluster manager creates for an application on this host, and removes when the application has
 * ended.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> {@code Utils.getConfiguredLocalDirs}: SPARK_EXECUTOR_DIRS of a standalone worker, LOCAL_DIRS of a
 * YARN container.
 */
final class ApplicationDirectory {
    private ApplicationDirectory() {}

    /** Finds it in the environment of an executor; empty if the cluster manager gives none. */
    static Optional<Path> find(UnaryOperator<@Nullable String> environment) {
        if (environment.apply("CONTAINER_ID") != null) {
            return first(environment.apply("LOCAL_DIRS"), ",");
        }
        return first(environment.apply("SPARK_EXECUTOR_DIRS"), File.pathSeparator);
    }

    private static Optional<Path> first(@Nullable String paths, String separator) {
        return paths == null || paths.isEmpty() || paths.indexOf('\n') >= 0
                ? Optional.empty()
                : Optional.of(Path.of(paths.split(separator, 2)[0]).toAbsolutePath());
    }
}
