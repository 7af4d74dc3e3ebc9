// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Services of Spark for the receiver of a migrated map output: its shuffle files, and reports to the driver.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public interface MigrationTarget {
    /** Throws if this executor holds as many bytes in shuffle files as it may take over. */
    void requireDiskRoom() throws IOException;

    /** Names a temporary file beside the output's data file; the caller writes it, and deletes or commits it. */
    File createDataFile(OutputKey key) throws IOException;

    /**
     * Makes files of an output visible to Spark, data and index together, and remembers to delete them with the
     * shuffle.
     *
     * @param data from {@link #createDataFile}; null if all partitions are empty
     */
    void commitFiles(OutputKey key, long[] lengths, @Nullable File data) throws IOException;

    /** Deletes what {@link #commitFiles} made. */
    void removeFiles(OutputKey key);

    /** Announces to the driver that the output is here; after that, readers that ask the driver come here. */
    void report(OutputKey key, long dataBytes, long indexBytes);
}
