// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Application of a pool whose files may outlive its process.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param id Spark's {@code spark.app.id}
 * @param directory of the application on this host, without a line feed in its path, which the cluster manager removes
 *     at its end; null where it makes none
 */
public record PoolApplication(String id, @Nullable Path directory) {}
