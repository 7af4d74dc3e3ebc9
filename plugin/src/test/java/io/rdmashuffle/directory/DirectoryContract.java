// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The directory as its owner writes it and a peer reads it, whichever way that peer reads. */
@Tag("contract")
@Timeout(120)
@ExtendWith(LeakCheck.class)
abstract class DirectoryContract {
    private static final int SLOTS = 16;
    private static final int SHUFFLE = 5;
    private final IndexCache cache = new IndexCache(1 << 20);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final boolean inPlace;
    private final List<MapOutput> outputs = new ArrayList<>();
    private Node owner;
    private Node reader;
    private Peer peer;
    private MapOutputDirectory directory;
    private RemoteDirectory remote;

    DirectoryContract(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        System.out.println(getClass().getSimpleName() + " seed " + seed);
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        reader = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        peer = over(reader.connect(owner), reader);
        remote = freshReader();
    }

    /** Returns the peer whose reads are tested. */
    Peer over(Peer shared, Node node) {
        return shared;
    }

    @AfterEach
    void close() {
        peer.close();
        directory.close();
        directory.close();
        outputs.forEach(MapOutput::close);
        assertThat(owner.pool().usage().leases()).isZero();
        reader.close();
        owner.close();
    }

    private RemoteDirectory freshReader() throws IOException {
        return new RemoteDirectory(peer, announced(), reads(), cache);
    }

    /** A reader that gives up soon on a record that does not become whole. */
    private RemoteDirectory hastyReader() throws DirectoryFormatException {
        return new RemoteDirectory(peer, announced(), reads(), cache, Duration.ofMillis(5));
    }

    private DirectoryLocation announced() throws DirectoryFormatException {
        return DirectoryLocation.decode(directory.location().encode());
    }

    private static DirectoryEntry file(long mapId) {
        return DirectoryEntry.file(mapId, 3, mapId * 7);
    }

    @Test
    void publishedOutputIsFound() throws Exception {
        DirectoryEntry pooled = new DirectoryEntry(42, Place.POOL, 9, 2, 1, 640, 3, 1 << 20, 12345);
        assertThat(directory.publish(SHUFFLE, pooled)).isTrue();
        assertThat(directory.publish(SHUFFLE, file(43))).isTrue();
        assertThat(remote.find(SHUFFLE, 42)).isEqualTo(pooled);
        assertThat(remote.find(SHUFFLE, 43)).isEqualTo(file(43));
        assertThat(remote.find(SHUFFLE, 44)).isNull();
        assertThat(remote.find(SHUFFLE + 1, 42)).isNull();
        assertThat(remote.find(SHUFFLE + SLOTS, 42)).isNull();
    }

    @Test
    void slotHoldsOneShuffleUntilItIsWithdrawn() throws Exception {
        assertThat(directory.publish(SHUFFLE, file(1))).isTrue();
        assertThat(directory.publish(SHUFFLE + SLOTS, file(2))).isTrue();
        assertThat(remote.find(SHUFFLE + SLOTS, 2)).isEqualTo(file(2));
        assertThat(remote.find(SHUFFLE + 2 * SLOTS, 3)).isNull();
        directory.withdraw(SHUFFLE);
        assertThat(directory.publish(SHUFFLE + 2 * SLOTS, file(3))).isTrue();
        assertThat(directory.tables()).as("the first has room again").isEqualTo(2);
        assertThat(remote.find(SHUFFLE + 2 * SLOTS, 3)).isEqualTo(file(3));
        assertThat(freshReader().find(SHUFFLE, 1)).isNull();
    }

    @Test
    void withdrawFreesSegments() throws Exception {
        long before = owner.pool().usage().usedBytes();
        for (int i = 0; i < 300; i++) {
            assertThat(directory.publish(SHUFFLE, file(i))).isTrue();
        }
        assertThat(remote.find(SHUFFLE, 299)).isEqualTo(file(299));
        directory.withdraw(SHUFFLE);
        directory.withdraw(SHUFFLE);
        assertThat(owner.pool().usage().usedBytes()).isEqualTo(before);
        assertThat(remote.find(SHUFFLE, 299)).as("known until forgotten").isEqualTo(file(299));
        remote.forget(SHUFFLE);
        assertThat(remote.find(SHUFFLE, 299)).isNull();
    }

    @Test
    void rewrittenShuffleIsFoundByEarlierReaders() throws Exception {
        for (int i = 0; i < 5; i++) {
            assertThat(directory.publish(SHUFFLE, file(i))).isTrue();
        }
        Located first = remote.locate(SHUFFLE, 4);
        assertThat(first).isNotNull();
        try (SlotWatch watch = remote.watch(SHUFFLE, first.generation())) {
            assertThat(watch == null || watch.isCurrent()).isTrue();
            directory.withdraw(SHUFFLE);
            assertThat(watch != null && watch.isCurrent()).isFalse();
            assertThat(directory.publish(SHUFFLE, file(100))).isTrue();
            assertThat(watch != null && watch.isCurrent())
                    .as("another generation")
                    .isFalse();
        }
        Located again = remote.locate(SHUFFLE, 100);
        assertThat(again).isNotNull();
        assertThat(again.generation()).isGreaterThan(first.generation());
        assertThat(remote.find(SHUFFLE, 4)).isNull();
    }

    /** Its owner may lose the processor between any two stores. */
    @Test
    void withdrawnShuffleStaysSoWhenItsSlotIsReused() throws Exception {
        assertThat(directory.publish(SHUFFLE, file(1))).isTrue();
        Located first = remote.locate(SHUFFLE, 1);
        assertThat(first).isNotNull();
        byte[] before = TestPools.bytes(slot());
        directory.withdraw(SHUFFLE);
        assertThat(directory.publish(SHUFFLE, file(2))).isTrue();
        byte[] after = TestPools.bytes(slot());
        directory.withdraw(SHUFFLE);
        try (SlotWatch watch = remote.watch(SHUFFLE, first.generation())) {
            byte[] withdrawn = TestPools.bytes(slot());
            for (int word = 0; word < before.length; word += Integer.BYTES) {
                slot().putBytes(0, withdrawn, 0, withdrawn.length);
                slot().putBytes(word, after, word, Integer.BYTES);
                assertThat(watch != null && watch.isCurrent()).as("at %d", word).isFalse();
            }
            slot().putBytes(0, before, 0, before.length);
            assertThat(watch == null || watch.isCurrent()).isTrue();
            slot().putBytes(0, withdrawn, 0, withdrawn.length);
        }
    }

    private MemorySlice slot() {
        return owner.pool()
                .regions()
                .get(0)
                .memory()
                .slice(
                        directory.location().table().offset() + DirectoryLayout.slotOffset(SHUFFLE, SLOTS),
                        DirectoryLayout.RECORD_BYTES);
    }

    @Test
    void nothingIsPublishedAfterClose() throws Exception {
        directory.close();
        assertThat(directory.publish(SHUFFLE, file(1))).isFalse();
        directory.withdraw(SHUFFLE);
    }

    @Test
    void aReaderNeverSeesHalfAnEntryWhileSegmentsGrow() throws Exception {
        int count = 1500;
        AtomicLong published = new AtomicLong(-1);
        CompletableFuture<Integer> reading = CompletableFuture.supplyAsync(() -> readWhilePublishing(published, count));
        for (int i = 0; i < count && !reading.isDone(); i++) {
            assertThat(directory.publish(SHUFFLE, file(i))).isTrue();
            published.set(i);
        }
        assertThat(reading.join()).isPositive();
        RemoteDirectory fresh = freshReader();
        for (int i = 0; i < count; i++) {
            assertThat(fresh.find(SHUFFLE, i)).isEqualTo(file(i));
        }
    }

    private int readWhilePublishing(AtomicLong published, int count) {
        int reads = 0;
        Random ids = new Random(seed);
        try {
            RemoteDirectory following = freshReader();
            long last;
            do {
                last = published.get();
                if (last >= 0) {
                    long id = reads % 2 == 0 ? last : ids.nextInt((int) last + 1);
                    RemoteDirectory looking = reads % 10 == 0 ? freshReader() : following;
                    assertThat(looking.find(SHUFFLE, id)).as("id %d", id).isEqualTo(file(id));
                    reads++;
                }
            } while (last < count - 1);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return reads;
    }

    @Test
    void reusedSlotNeverShowsAnotherShuffle() throws Exception {
        AtomicLong rounds = new AtomicLong();
        AtomicLong looks = new AtomicLong();
        CompletableFuture<Void> reading = CompletableFuture.runAsync(() -> {
            try {
                while (rounds.get() < 400 || looks.get() == 0) {
                    RemoteDirectory looking = freshReader();
                    for (int s = 0; s < 4; s++) {
                        DirectoryEntry entry = looking.find(SHUFFLE + s * SLOTS, s);
                        assertThat(entry == null || entry.equals(file(s))).isTrue();
                    }
                    looks.incrementAndGet();
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        while ((rounds.get() < 400 || looks.get() == 0) && !reading.isDone()) {
            int s = random.nextInt(4);
            assertThat(directory.publish(SHUFFLE + s * SLOTS, file(s))).isTrue();
            directory.withdraw(SHUFFLE + s * SLOTS);
            rounds.incrementAndGet();
        }
        reading.join();
    }

    @Test
    void rangesOfTheIndexLeadToThePartitionsBytes() throws Exception {
        for (int round = 0; round < 10; round++) {
            TestOutput made =
                    TestOutput.random(owner.pool(), round, 1 + random.nextInt(40), 1 + random.nextInt(2000), random);
            outputs.add(made.output());
            directory.publish(SHUFFLE, made.output().entry());
            DirectoryEntry entry = remote.find(SHUFFLE, round);
            assertThat(entry).isNotNull().isEqualTo(made.output().entry());
            if (entry == null) {
                return;
            }
            for (int i = 0; i < 30; i++) {
                int start = random.nextInt(entry.partitions());
                int end = start + 1 + random.nextInt(entry.partitions() - start);
                String where = "seed " + seed + " round " + round + " [" + start + ", " + end + ")";
                BlockRange range = remote.range(new WantedRange(SHUFFLE, entry, start, end));
                byte[] expected = made.expected(start, end);
                assertThat(range.lengthBytes()).as(where).isEqualTo(expected.length);
                try (RemoteBytes bytes = reads().read(peer, range.slices())) {
                    assertThat(TestOutput.join(bytes.slices())).as(where).isEqualTo(expected);
                    assertThat(range.matches(bytes.slices())).as(where).isTrue();
                }
                BlockRange local = made.output().range(start, end);
                assertThat(local.slices()).isEqualTo(range.slices());
                assertThat(TestOutput.join(made.output().bytes(local))).isEqualTo(expected);
            }
        }
    }

    private BlockingReads reads() {
        return new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
    }

    @Test
    void anOutputOfEmptyPartitionsHasEmptyRangesAndNoOthers() throws Exception {
        TestOutput empty = TestOutput.write(owner.pool(), 1, new byte[6][0], random);
        outputs.add(empty.output());
        directory.publish(SHUFFLE, empty.output().entry());
        DirectoryEntry entry = remote.find(SHUFFLE, 1);
        if (entry == null) {
            throw new AssertionError("not found");
        }
        BlockRange range = remote.range(new WantedRange(SHUFFLE, entry, 2, 5));
        assertThat(range.slices()).isEmpty();
        assertThat(range.lengths()).containsExactly(0, 0, 0);
        assertThat(range.matches(List.of())).isTrue();
        assertThat(empty.output().range(2, 5).slices()).isEmpty();
        int[][] wrong = {{5, 5}, {4, 2}, {0, 7}, {-1, 3}};
        for (int[] bounds : wrong) {
            assertThatThrownBy(() -> remote.range(new WantedRange(SHUFFLE, entry, bounds[0], bounds[1])))
                    .isInstanceOf(DirectoryFormatException.class);
            assertThatThrownBy(() -> empty.output().range(bounds[0], bounds[1]))
                    .isInstanceOf(DirectoryFormatException.class);
        }
    }

    @Test
    void manyRangesAtOnceAreThoseOfEachAlone() throws Exception {
        List<WantedRange> wanted = new ArrayList<>();
        for (int mapId = 0; mapId < 50; mapId++) {
            TestOutput made = mapId == 7
                    ? TestOutput.write(owner.pool(), mapId, new byte[6][0], random)
                    : TestOutput.random(owner.pool(), mapId, 1 + random.nextInt(40), 200, random);
            outputs.add(made.output());
            DirectoryEntry entry = made.output().entry();
            int start = random.nextInt(entry.partitions());
            wanted.add(new WantedRange(SHUFFLE, entry, start, start + 1 + random.nextInt(entry.partitions() - start)));
        }
        List<BlockRange> ranges = remote.ranges(wanted);
        RemoteDirectory another = freshReader();
        for (int i = 0; i < wanted.size(); i++) {
            WantedRange each = wanted.get(i);
            BlockRange alone = another.range(each);
            assertThat(ranges.get(i)).as("seed " + seed + ", " + each).satisfies(range -> {
                assertThat(range.slices()).isEqualTo(alone.slices());
                assertThat(range.lengths()).isEqualTo(alone.lengths());
                assertThat(range.checksums()).isEqualTo(alone.checksums());
            });
        }
        assertThat(remote.ranges(List.of())).isEmpty();
        assertThat(reader.pool().usage().leases()).isZero();
    }

    @Test
    void amongManyRangesOnlyThoseThatCannotBeAreMissing() throws Exception {
        TestOutput good = TestOutput.random(owner.pool(), 1, 8, 100, random);
        TestOutput damaged = TestOutput.write(owner.pool(), 2, new byte[8][10], random);
        outputs.addAll(List.of(good.output(), damaged.output()));
        DirectoryEntry entry = damaged.output().entry();
        MemorySlice index = owner.pool().regions().get(entry.indexRegion()).memory();
        index.putLong(entry.indexOffset() + 24L * entry.extents(), -1);
        List<BlockRange> ranges = remote.ranges(List.of(
                new WantedRange(SHUFFLE, file(3), 0, 1),
                new WantedRange(SHUFFLE, entry, 0, 1),
                new WantedRange(SHUFFLE, good.output().entry(), 0, 9),
                new WantedRange(SHUFFLE, good.output().entry(), 0, 8)));
        assertThat(ranges.subList(0, 3)).containsOnlyNulls();
        assertThat(ranges.get(3).lengthBytes()).isEqualTo(good.expected(0, 8).length);
    }

    @Test
    void partitionsThatDoNotExistAreRefused() throws Exception {
        TestOutput made = TestOutput.random(owner.pool(), 1, 8, 100, random);
        outputs.add(made.output());
        DirectoryEntry entry = made.output().entry();
        int[][] wrong = {{5, 5}, {4, 2}, {0, 9}, {-1, 3}};
        for (int[] bounds : wrong) {
            assertThatThrownBy(() -> remote.range(new WantedRange(SHUFFLE, entry, bounds[0], bounds[1])))
                    .isInstanceOf(DirectoryFormatException.class);
        }
    }

    @Test
    void flippedBitsAreNeverAnythingButAnIoException() throws Exception {
        TestOutput made = TestOutput.random(owner.pool(), 1, 20, 300, random);
        outputs.add(made.output());
        directory.publish(SHUFFLE, made.output().entry());
        DirectoryEntry whole = made.output().entry();
        MemorySlice region0 = owner.pool().regions().get(0).memory();
        MemorySlice slot = slot();
        MemorySlice record = region0.slice(slot.getLong(DirectoryLayout.SLOT_OFFSET), DirectoryLayout.RECORD_BYTES);
        MemorySlice index = region0.slice(whole.indexOffset(), MapOutputIndex.lengthBytes(20, whole.extents()));
        for (int round = 0; round < 300; round++) {
            MemorySlice victim = List.of(slot, record, index).get(round % 3);
            byte[] saved = flipOneBit(victim, !victim.equals(index) && round % 2 == 0);
            String where = "seed " + seed + " round " + round;
            try {
                DirectoryEntry entry = hastyReader().find(SHUFFLE, 1);
                if (entry != null && entry.place() == Place.POOL) {
                    BlockRange range = remote.range(new WantedRange(SHUFFLE, entry, 0, 20));
                    try (RemoteBytes bytes = reads().read(peer, range.slices())) {
                        boolean same = Arrays.equals(TestOutput.join(bytes.slices()), made.expected(0, 20));
                        // Zeroed memory reads as an index of empty partitions; whoever asked for bytes refuses those.
                        boolean empty = range.slices().isEmpty();
                        assertThat(same || empty || !range.matches(bytes.slices()))
                                .as(where)
                                .isTrue();
                    }
                }
            } catch (DirectoryFormatException | ReadFailedException expected) {
                assertThat(expected).as(where).hasMessageMatching("(?s).+");
            } finally {
                victim.putBytes(0, saved, 0, saved.length);
            }
            assertThat(reader.pool().usage().leases()).as(where).isZero();
        }
        assertThat(freshReader().find(SHUFFLE, 1)).isEqualTo(whole);
    }

    @Test
    void aRecordThatStaysDamagedIsWaitedForOnce() throws Exception {
        directory.publish(SHUFFLE, file(1));
        CountingPeer counting = new CountingPeer(peer);
        RemoteDirectory patient =
                new RemoteDirectory(counting.peer(), directory.location(), reads(), cache, Duration.ofMillis(300));
        MemorySlice slot = slot();
        byte[] saved = TestPools.bytes(slot);
        slot.putBytes(DirectoryLayout.SLOT_ENTRIES, new byte[] {9}, 0, 1);

        assertThatThrownBy(() -> patient.find(SHUFFLE, 1)).isInstanceOf(DirectoryFormatException.class);
        counting.takeLooks();
        assertThatThrownBy(() -> patient.find(SHUFFLE, 1)).isInstanceOf(DirectoryFormatException.class);
        // One look may be both a try to view and a read.
        assertThat(counting.takeLooks()).isLessThanOrEqualTo(2);

        slot.putBytes(0, saved, 0, saved.length);
        assertThat(patient.find(SHUFFLE, 1)).isEqualTo(file(1));
    }

    /** Damages memory, with a matching checksum if {@code seal}; returns the original bytes. */
    private byte[] flipOneBit(MemorySlice victim, boolean seal) {
        byte[] saved = TestPools.bytes(victim);
        byte[] damaged = saved.clone();
        damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
        victim.putBytes(0, damaged, 0, damaged.length);
        if (seal) {
            DirectoryLayout.seal(victim);
        }
        return saved;
    }
}
