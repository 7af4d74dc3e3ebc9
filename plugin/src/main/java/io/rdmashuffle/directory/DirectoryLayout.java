// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The fixed-size records of the directory. Each is one cache line, ends in a CRC-32C of its first 60 bytes, and is
 * little-endian.
 *
 * <pre>
 *  HEADER of a table, at 0 in it          SLOT of shuffle s, at 64 * (1 + s mod slots) in the table
 *     0   8  magic "RDMADIR1"                0   4  shuffle id
 *     8   4  layout version, 5               4   4  1 = live, 0 = none
 *    12   4  slots                           8   4  region of the shuffle's segment
 *    16  16  incarnation of the executor    12   4  entries in the segment
 *    32   4  slots of the next table,       16   8  offset of the segment in its region
 *            0 = there is none              24   8  generation: changes when the slot gets or loses a shuffle, and
 *    36   4  region of the next table               before memory is freed that map outputs have left; never the
 *    40   8  offset of the next table               same twice in a directory
 *    48  12  zero                           32   8  revision: changes when an entry is written again, since its map
 *    60   4  CRC-32C                                output has moved; where it was, it stays readable for a while
 *                                           40  20  zero
 *                                           60   4  CRC-32C
 *
 *  ENTRY of one map output, at 64 * i in the segment
 *     0   8  map id (Spark's task attempt id, unique)
 *     8   4  1 = in memory, 3 = some of it in the disk tier, 2 = an ordinary shuffle
 *           file, 0 = withdrawn
 *    12   4  partitions
 *    16   4  extents
 *    20   4  region of the index
 *    24   8  offset of the index in its region
 *    32   8  bytes of data
 *    40   8  offset of the data in its region, if it lies in one piece
 *    48   4  region of the data, if it lies in one piece
 *    52   8  zero
 *    60   4  CRC-32C
 * </pre>
 *
 * A shuffle whose slot another one has goes to the next table, which has twice as many slots. A reader that sees a
 * wrong checksum has read a half-written record and reads it again; see {@link RemoteDirectory}.
 */
final class DirectoryLayout {
    /** Bytes of header, slot and entry. */
    static final long RECORD_BYTES = 64;

    static final long MAGIC = 0x31524944414D4452L;
    static final int VERSION = 5;

    /** Each is twice as long as the one before: together 255 times the first. */
    static final int MAX_TABLES = 8;

    static final int HEADER_VERSION = 8;
    static final int HEADER_SLOTS = 12;
    static final int HEADER_INCARNATION = 16;
    static final int HEADER_NEXT_SLOTS = 32;
    static final int HEADER_NEXT_REGION = 36;
    static final int HEADER_NEXT_OFFSET = 40;

    static final int SLOT_SHUFFLE = 0;
    static final int SLOT_LIVE = 4;
    static final int SLOT_REGION = 8;
    static final int SLOT_ENTRIES = 12;
    static final int SLOT_OFFSET = 16;
    static final int SLOT_GENERATION = 24;
    static final int SLOT_REVISION = 32;

    static final int ENTRY_MAP_ID = 0;
    static final int ENTRY_PLACE = 8;
    static final int ENTRY_PARTITIONS = 12;
    static final int ENTRY_EXTENTS = 16;
    static final int ENTRY_REGION = 20;
    static final int ENTRY_OFFSET = 24;
    static final int ENTRY_DATA_BYTES = 32;
    static final int ENTRY_DATA_OFFSET = 40;
    static final int ENTRY_DATA_REGION = 48;

    private static final long CRC = 60;

    private DirectoryLayout() {}

    /** Returns the bytes of a table with this many slots, header included. */
    static long tableBytes(int slots) {
        return RECORD_BYTES * (1L + slots);
    }

    /** Returns the offset of a shuffle's slot in the table. */
    static long slotOffset(int shuffleId, int slots) {
        return RECORD_BYTES * (1L + Math.floorMod(shuffleId, slots));
    }

    /** Writes the checksum of a record whose fields are complete. */
    static void seal(MemorySlice record) {
        record.putInt(CRC, Crc32c.of(record.slice(0, CRC)));
    }

    /**
     * Copies a record out of memory that its owner may be writing; null when it was caught half written.
     *
     * <p>Looking at the checksum and then at the fields of live memory would be two looks at two different things.
     */
    static @Nullable ByteBuffer snapshot(MemorySlice record) {
        byte[] bytes = new byte[(int) RECORD_BYTES];
        record.getBytes(0, bytes, 0, bytes.length);
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, (int) CRC);
        ByteBuffer copy = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        return copy.getInt((int) CRC) == (int) crc.getValue() ? copy : null;
    }
}
