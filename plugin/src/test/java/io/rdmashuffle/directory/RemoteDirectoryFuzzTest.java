// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** A reader of a peer whose directory is damaged: table, segment and index, where they lie and copied. */
@Tag("unit")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class RemoteDirectoryFuzzTest {
    private static final int SLOTS = 16;
    private static final int SHUFFLE = 5;
    private static final int PARTITIONS = 7;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final boolean inPlace;
    private final List<TestOutput> outputs = new ArrayList<>();
    private Node owner;
    private Node reader;
    private Peer peer;
    private MapOutputDirectory directory;

    RemoteDirectoryFuzzTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    /** Damage here is permanent. */
    private static final Duration WAIT = Duration.ofMillis(2);

    @BeforeEach
    void open() throws Exception {
        Random random = new Random(7);
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        reader = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        peer = reader.connect(owner);
        for (int map = 0; map < 4; map++) {
            TestOutput made = TestOutput.random(owner.pool(), 100 + map, PARTITIONS, 2000, random);
            outputs.add(made);
            assertThat(directory.publish(SHUFFLE, made.output().entry())).isTrue();
            assertThat(directory.publish(SHUFFLE + 1, DirectoryEntry.file(200 + map, 3, 9)))
                    .isTrue();
        }
    }

    @AfterEach
    void close() {
        peer.close();
        directory.close();
        outputs.forEach(made -> made.output().close());
        assertThat(owner.pool().usage().leases()).isZero();
        reader.close();
        owner.close();
    }

    /** Records whose checksum does not fit are looked at again and again, so only some of these are tried. */
    @Test
    void recordsThatAreTornAreNeverBelieved() throws Exception {
        try (FuzzRun run = fuzz("torn directory")) {
            Mutations mutations = new Mutations(run.random());
            for (MemorySlice victim : List.of(slot(), record(0), record(2))) {
                byte[] valid = TestPools.bytes(victim);
                for (int round = 0; round < run.times(20); round++) {
                    attempt(run, victim, mutations.atRandom(valid), false);
                }
            }
        }
    }

    @Test
    void recordsThatLieLeadToTheirOwnBytesOrNone() throws Exception {
        try (FuzzRun run = fuzz("lying directory")) {
            Mutations mutations = new Mutations(run.random());
            for (MemorySlice victim : List.of(slot(), record(0))) {
                byte[] valid = TestPools.bytes(victim);
                mutations.flippedBits(valid, input -> attempt(run, victim, input, true));
                for (int round = 0; round < run.times(800); round++) {
                    attempt(run, victim, mutations.atRandom(valid), true);
                }
            }
            assertThat(run.harmless()).isPositive();
            assertThat(run.refused()).isPositive();
        }
    }

    @Test
    void damagedIndexesLeadToTheRightBytesOrNone() throws Exception {
        try (FuzzRun run = fuzz("index at a peer")) {
            Mutations mutations = new Mutations(run.random());
            DirectoryEntry entry = outputs.get(0).output().entry();
            MemorySlice victim = region(entry.indexRegion())
                    .slice(entry.indexOffset(), MapOutputIndex.lengthBytes(PARTITIONS, entry.extents()));
            byte[] valid = TestPools.bytes(victim);
            mutations.flippedBits(valid, input -> attempt(run, victim, input, false));
            for (int round = 0; round < run.times(2000); round++) {
                attempt(run, victim, mutations.atRandom(valid), false);
            }
            assertThat(run.harmless()).isPositive();
            assertThat(run.refused()).isPositive();
        }
    }

    /** What a reader of a shuffle in the second table follows. */
    @Test
    void headersThatAreTornOrLieLeadToNoOtherTable() throws Exception {
        int second = SHUFFLE + SLOTS;
        DirectoryEntry entry = DirectoryEntry.file(300, 3, 9);
        assertThat(directory.publish(second, entry)).isTrue();
        try (FuzzRun run = fuzz("header that leads on")) {
            Mutations mutations = new Mutations(run.random());
            MemorySlice victim = header();
            byte[] valid = TestPools.bytes(victim);
            mutations.flippedBits(valid, input -> follow(run, input, second, entry, true));
            for (int round = 0; round < run.times(500); round++) {
                follow(run, mutations.atRandom(valid), second, entry, true);
            }
            for (int round = 0; round < run.times(20); round++) {
                follow(run, mutations.atRandom(valid), second, entry, false);
            }
            assertThat(run.harmless()).isPositive();
            assertThat(run.refused()).isPositive();
        }
    }

    private void follow(FuzzRun run, byte[] input, int shuffleId, DirectoryEntry expected, boolean sealed) {
        MemorySlice victim = header();
        byte[] saved = TestPools.bytes(victim);
        try {
            victim.putBytes(0, input, 0, input.length);
            if (sealed) {
                DirectoryLayout.seal(victim);
            }
            run.attempt(input, () -> {
                BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
                RemoteDirectory remote =
                        new RemoteDirectory(peer, directory.location(), reads, new IndexCache(1 << 20), WAIT);
                DirectoryEntry found = remote.find(shuffleId, expected.mapId());
                assertThat(found == null || found.equals(expected)).isTrue();
                return found != null;
            });
        } finally {
            victim.putBytes(0, saved, 0, saved.length);
        }
        assertThat(reader.pool().usage().leases()).isZero();
    }

    private MemorySlice header() {
        RemoteSlice table = directory.location().table();
        return region(table.regionId()).slice(table.offset(), DirectoryLayout.RECORD_BYTES);
    }

    private FuzzRun fuzz(String what) {
        return new FuzzRun(
                what + (inPlace ? ", in place" : ", copied"),
                DirectoryFormatException.class,
                ReadFailedException.class);
    }

    private void attempt(FuzzRun run, MemorySlice victim, byte[] input, boolean sealed) {
        byte[] saved = TestPools.bytes(victim);
        int map = run.random().nextInt(4);
        int start = run.random().nextInt(PARTITIONS);
        int end = start + 1 + run.random().nextInt(PARTITIONS - start);
        boolean alone = run.random().nextBoolean();
        try {
            victim.putBytes(0, input, 0, input.length);
            if (sealed) {
                DirectoryLayout.seal(victim);
            }
            run.attempt(input, () -> isRead(map, start, end, alone));
        } finally {
            victim.putBytes(0, saved, 0, saved.length);
        }
        assertThat(reader.pool().usage().leases()).isZero();
    }

    /** Reads as a reducer does; returns false if there is nothing, fails on bytes that were never written. */
    private boolean isRead(int map, int start, int end, boolean alone) throws Exception {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
        RemoteDirectory remote = new RemoteDirectory(peer, directory.location(), reads, new IndexCache(1 << 20), WAIT);
        Located located = remote.locate(SHUFFLE, 100 + map);
        if (located == null || located.entry().place() != Place.POOL) {
            return false;
        }
        BlockRange range = alone
                ? remote.range(new WantedRange(SHUFFLE, located.entry(), start, end))
                : remote.ranges(List.of(new WantedRange(SHUFFLE, located.entry(), start, end)))
                        .get(0);
        if (range == null || range.slices().isEmpty()) {
            return false;
        }
        try (RemoteBytes bytes = reads.read(peer, range.slices())) {
            if (!range.matches(bytes.slices())) {
                return false;
            }
            byte[] read = TestOutput.join(bytes.slices());
            assertThat(read)
                    .as("bytes of another partition or map output")
                    .isEqualTo(outputs.get(map).expected(start, end));
            return true;
        }
    }

    private MemorySlice region(int id) {
        return owner.pool().regions().get(id).memory();
    }

    private MemorySlice slot() {
        RemoteSlice table = directory.location().table();
        return region(table.regionId())
                .slice(table.offset() + DirectoryLayout.slotOffset(SHUFFLE, SLOTS), DirectoryLayout.RECORD_BYTES);
    }

    private MemorySlice record(int index) {
        MemorySlice slot = slot();
        return region(slot.getInt(DirectoryLayout.SLOT_REGION))
                .slice(
                        slot.getLong(DirectoryLayout.SLOT_OFFSET) + index * DirectoryLayout.RECORD_BYTES,
                        DirectoryLayout.RECORD_BYTES);
    }
}
