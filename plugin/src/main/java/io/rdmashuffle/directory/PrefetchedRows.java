// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Rows of indexes of one peer that were read for one task, because no other task of this executor needs them.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class PrefetchedRows {
    private final Map<DirectoryEntry, IndexRows> rows = new ConcurrentHashMap<>();

    /** Starts without a row. */
    public PrefetchedRows() {}

    /** Adds rows; null if the index is damaged. */
    void put(DirectoryEntry entry, @Nullable IndexRows added) {
        if (added != null) {
            rows.put(entry, added);
        }
    }

    /** Returns rows of these partitions; null if it has not all of them. */
    @Nullable
    IndexRows get(WantedRange wanted) {
        IndexRows known = rows.get(wanted.entry());
        return known != null && known.has(wanted.start(), wanted.end()) ? known : null;
    }
}
