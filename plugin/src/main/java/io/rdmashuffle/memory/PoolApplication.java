// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Application of a pool whose files may outlive its process. The files of a dead process are kept as long as the
 * application's directory exists, which the cluster manager removes when the application has ended.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param id Spark's {@code spark.app.id}
 * @param directory of the application on this host, without a line feed in its path
 */
public record PoolApplication(String id, Path directory) {
    /** Returns whether the application's directory exists. */
    public boolean isThere() {
        return Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS);
    }
}
