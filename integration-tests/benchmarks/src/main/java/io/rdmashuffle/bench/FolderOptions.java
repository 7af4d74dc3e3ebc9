// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of benches whose configurations have local directories on disk and in memory.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
public abstract class FolderOptions extends ComparisonOptions {
    @Option(
            names = "--disk",
            order = FIRST,
            paramLabel = "DIR",
            description = "spark.local.dir of sort-disk and of ours. Default: the build's folder")
    private @Nullable Path disk;

    @Option(
            names = "--tmpfs",
            order = FIRST,
            paramLabel = "DIR",
            description = "spark.local.dir of sort-tmpfs and sort-bare. Default: ${DEFAULT-VALUE}")
    private Path tmpfs = Path.of("/dev/shm");

    public final @Nullable Path disk() {
        return disk;
    }

    public final Path tmpfs() {
        return tmpfs;
    }
}
