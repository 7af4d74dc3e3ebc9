// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class EntryTableTest {
    private static final List<Place> PLACES = List.of(Place.values());

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    private DirectoryEntry entry(long mapId) {
        return new DirectoryEntry(
                mapId,
                PLACES.get(random.nextInt(PLACES.size())),
                random.nextInt(Integer.MAX_VALUE),
                random.nextInt(Integer.MAX_VALUE),
                random.nextInt(Integer.MAX_VALUE),
                random.nextLong(),
                random.nextInt(Integer.MAX_VALUE),
                random.nextLong(),
                random.nextLong());
    }

    @Test
    void nothingIsInAnEmptyTable() {
        assertThat(EntryTable.empty().get(0)).isNull();
        assertThat(EntryTable.empty().all()).isEmpty();
        assertThat(EntryTable.empty().with(List.of()).get(-1)).isNull();
    }

    @Test
    void entriesRoundTripInAnyNumberOfSteps() {
        Map<Long, DirectoryEntry> model = new HashMap<>();
        EntryTable table = EntryTable.empty();
        for (int step = 0; step < 40; step++) {
            List<DirectoryEntry> added = new ArrayList<>();
            for (int i = random.nextInt(100); i > 0; i--) {
                long mapId = random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(2_000);
                DirectoryEntry entry = entry(mapId);
                added.add(entry);
                model.put(mapId, entry);
            }
            table = table.with(added);
        }
        EntryTable full = table;
        assertThat(model)
                .as("seed %d", seed)
                .allSatisfy((mapId, entry) -> assertThat(full.get(mapId)).isEqualTo(entry));
        assertThat(table.all()).as("seed %d", seed).containsExactlyInAnyOrderElementsOf(model.values());
        for (long mapId = -10; mapId < 2_100; mapId++) {
            assertThat(table.get(mapId)).as("seed %d, map %d", seed, mapId).isEqualTo(model.get(mapId));
        }
    }

    @Test
    void anOldTableDoesNotSeeWhatCameLater() {
        EntryTable before = EntryTable.empty().with(List.of(entry(1)));
        EntryTable after = before.with(List.of(entry(2)));
        assertThat(before.get(2)).isNull();
        assertThat(after.get(1)).isEqualTo(before.get(1));
    }
}
