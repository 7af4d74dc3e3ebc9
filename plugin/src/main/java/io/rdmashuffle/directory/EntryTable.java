// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reader's cache of one shuffle's entries by map id: one array, so that a lookup touches one place in memory. A reduce
 * task looks up every map output, and other data evicts the table from CPU caches between tasks.
 *
 * <p>Open addressing, at most four fifths full. A cell is map id; place and partitions; extents and region; offset of
 * the index; bytes of data; offset of data; region of data. A second word of 0 is an empty cell.
 *
 * <p><b>Threading:</b> immutable.
 */
final class EntryTable {
    private static final int CELL_LONGS = 7;
    private static final int MIN_CELLS = 8;
    private static final long HASH = 0x9E3779B97F4A7C15L;

    private final long[] cells;
    private final int count;
    private final int hashShift;

    private EntryTable(int atMost) {
        int least = Math.max(MIN_CELLS, Math.addExact(atMost, atMost / 4 + 1));
        int length = Integer.highestOneBit(least - 1) << 1;
        this.cells = new long[Math.multiplyExact(length, CELL_LONGS)];
        this.hashShift = Long.SIZE - Integer.numberOfTrailingZeros(length);
        this.count = atMost;
    }

    /** Returns a table without entries. */
    static EntryTable empty() {
        return new EntryTable(0);
    }

    /** Returns a table with these entries, too; of two of one map id the later one counts. */
    EntryTable with(List<DirectoryEntry> added) {
        EntryTable larger = new EntryTable(count + added.size());
        for (int cell = 0; cell < cells.length; cell += CELL_LONGS) {
            if (cells[cell + 1] != 0) {
                System.arraycopy(cells, cell, larger.cells, larger.find(cells[cell]), CELL_LONGS);
            }
        }
        added.forEach(larger::put);
        return larger;
    }

    /** Returns the entry of a map output; null if there is none. */
    @Nullable
    DirectoryEntry get(long mapId) {
        int cell = find(mapId);
        return cells[cell + 1] == 0 ? null : entryIn(cell);
    }

    private DirectoryEntry entryIn(int cell) {
        long first = cells[cell + 1];
        long second = cells[cell + 2];
        return new DirectoryEntry(
                cells[cell],
                place(high(first)),
                (int) first,
                high(second),
                (int) second,
                cells[cell + 3],
                (int) cells[cell + 6],
                cells[cell + 5],
                cells[cell + 4]);
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Returns all entries, in no order. */
    List<DirectoryEntry> all() {
        List<DirectoryEntry> entries = new ArrayList<>(count);
        for (int cell = 0; cell < cells.length; cell += CELL_LONGS) {
            if (cells[cell + 1] != 0) {
                entries.add(entryIn(cell));
            }
        }
        return entries;
    }

    private void put(DirectoryEntry entry) {
        int cell = find(entry.mapId());
        cells[cell] = entry.mapId();
        cells[cell + 1] = pair(mark(entry.place()), entry.partitions());
        cells[cell + 2] = pair(entry.extents(), entry.indexRegion());
        cells[cell + 3] = entry.indexOffset();
        cells[cell + 4] = entry.dataBytes();
        cells[cell + 5] = entry.dataOffset();
        cells[cell + 6] = entry.dataRegion();
    }

    /** Returns the cell of a map output, existing or free. */
    private int find(long mapId) {
        int cell = (int) ((mapId * HASH) >>> hashShift) * CELL_LONGS;
        while (cells[cell + 1] != 0 && cells[cell] != mapId) {
            cell += CELL_LONGS;
            if (cell == cells.length) {
                cell = 0;
            }
        }
        return cell;
    }

    private static int mark(Place place) {
        return switch (place) {
            case POOL -> 1;
            case FILE -> 2;
            case WITHDRAWN -> 3;
            case DISK -> 4;
        };
    }

    private static Place place(int mark) {
        return switch (mark) {
            case 1 -> Place.POOL;
            case 2 -> Place.FILE;
            case 4 -> Place.DISK;
            default -> Place.WITHDRAWN;
        };
    }

    private static long pair(int high, int low) {
        return (long) high << Integer.SIZE | Integer.toUnsignedLong(low);
    }

    private static int high(long pair) {
        return (int) (pair >>> Integer.SIZE);
    }
}
