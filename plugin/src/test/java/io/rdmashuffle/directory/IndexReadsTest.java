// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Which bytes of indexes are copied from a peer, in how many reads, and which are kept. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class IndexReadsTest {
    private static final int SHUFFLE = 4;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** Largest number of partitions whose index is smaller than 64 KiB. */
    private static final int LARGEST_KEPT = 5460;

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final Fabric ownerFabric = new ShmFabric(1, 16 << 20, false);
    private final Fabric readerFabric = new ShmFabric(1, 16 << 20, false);
    private final IndexCache cache = new IndexCache(64 << 20);
    private final List<MapOutput> outputs = new ArrayList<>();
    private Pool owner;
    private Pool reader;
    private Peer peer;
    private CountingPeer counting;
    private BlockingReads blocking;
    private IndexReads reads;

    @BeforeEach
    void open() throws Exception {
        owner = TestPools.create(path, 4 << 20, 1 << 20, ownerFabric);
        reader = TestPools.create(path, 1 << 20, 1 << 20, readerFabric);
        peer = readerFabric.connect("peer", ownerFabric.localAddress());
        counting = new CountingPeer(peer);
        blocking = new BlockingReads(new ReceiveLeases(reader, TIMEOUT), TIMEOUT);
        reads = new IndexReads(counting.peer(), blocking, cache);
    }

    @AfterEach
    void close() {
        assertThat(reader.usage().leases()).isZero();
        peer.close();
        outputs.forEach(MapOutput::close);
        readerFabric.close();
        ownerFabric.close();
        reader.close();
        owner.close();
    }

    /** An output in one piece, of which every partition has as many bytes as its number says, at most 3. */
    private DirectoryEntry output(long mapId, int partitions) throws InterruptedException {
        long[] lengths = new long[partitions];
        Arrays.setAll(lengths, p -> p % 4);
        long total = Arrays.stream(lengths).sum();
        Lease data = TestPools.reserve(owner, Purpose.MAP_OUTPUT, total);
        MapOutput output = Objects.requireNonNull(MapOutput.create(
                TieredPool.of(owner), mapId, List.of(data), new long[] {total}, lengths, new int[partitions]));
        outputs.add(output);
        return output.entry();
    }

    private List<BlockRange> many(List<WantedRange> wanted) throws Exception {
        return reads.many(wanted, new PrefetchedRows());
    }

    private static WantedRange wanted(DirectoryEntry entry, int start, int end) {
        return new WantedRange(SHUFFLE, entry, start, end);
    }

    private static void assertIs(BlockRange range, DirectoryEntry entry, long from, long length) {
        assertThat(range.slices())
                .containsExactly(new RemoteSlice(entry.dataRegion(), entry.dataOffset() + from, length));
    }

    private MemorySlice rows(DirectoryEntry entry) {
        return owner.regions()
                .get(entry.indexRegion())
                .memory()
                .slice(entry.indexOffset(), MapOutputIndex.lengthBytes(entry.partitions(), 1));
    }

    @Test
    void indexesUpToALengthAreReadWholeAndKept() throws Exception {
        DirectoryEntry kept = output(1, LARGEST_KEPT);
        assertIs(many(List.of(wanted(kept, 3, 4))).get(0), kept, 3, 3);
        assertThat(cache.reads()).isOne();
        assertThat(cache.get(reads, SHUFFLE, kept)).isNotNull();
        counting.takeLooks();
        assertIs(reads.one(wanted(kept, 4, 6)), kept, 6, 1);
        assertThat(counting.takeLooks()).isZero();
    }

    @Test
    void longerOnesAreReadInPartsAndNotKept() throws Exception {
        DirectoryEntry large = output(1, LARGEST_KEPT + 1);
        List<BlockRange> ranges = many(List.of(wanted(large, 3, 4), wanted(large, 4, 6), wanted(large, 0, 4)));
        assertIs(ranges.get(0), large, 3, 3);
        assertIs(ranges.get(1), large, 6, 1);
        assertIs(ranges.get(2), large, 0, 6);
        assertThat(cache.reads()).as("their rows are one piece").isOne();
        assertThat(cache.bytes()).isZero();
        assertThat(reads.prefetch(SHUFFLE, List.of(large), 0, 0, Runnable::run)).isCompleted();
        assertThat(cache.reads()).isOne();
    }

    @Test
    void anIndexOfWhichSeveralPartsAreWantedIsReadOnce() throws Exception {
        DirectoryEntry entry = output(1, 100);
        List<BlockRange> ranges = many(List.of(wanted(entry, 1, 2), wanted(entry, 2, 3), wanted(entry, 3, 99)));
        assertIs(ranges.get(0), entry, 0, 1);
        assertIs(ranges.get(1), entry, 1, 2);
        assertThat(ranges.get(2).lengths()).hasSize(96);
        assertThat(cache.reads()).isOne();
        many(List.of(wanted(entry, 5, 6)));
        assertThat(cache.reads()).isOne();
        reads.forget(SHUFFLE);
        many(List.of(wanted(entry, 5, 6)));
        assertThat(cache.reads()).isEqualTo(2);
        reads.forget();
        assertThat(cache.bytes()).isZero();
    }

    @Test
    void asManyAsFitAreReadTogether() throws Exception {
        List<WantedRange> all = new ArrayList<>();
        for (int map = 0; map < 5; map++) {
            all.add(wanted(output(map, LARGEST_KEPT), map + 4, map + 5));
        }
        many(all.subList(0, 1));
        long looksOfOne = counting.takeLooks();
        reads.forget();
        many(all.subList(0, 4));
        assertThat(counting.takeLooks()).as("256 KiB").isEqualTo(looksOfOne);
        reads.forget();
        List<BlockRange> ranges = many(all);
        assertThat(counting.takeLooks()).isGreaterThan(looksOfOne);
        for (int map = 0; map < 5; map++) {
            assertThat(ranges.get(map).lengths()).containsExactly(map % 4);
        }
    }

    @Test
    void emptyPartitionsCostNoRead() throws Exception {
        DirectoryEntry empty = DirectoryEntry.empty(1, 3);
        DirectoryEntry file = DirectoryEntry.file(2, 3, 99);
        assertThat(reads.one(wanted(empty, 1, 3)).lengths()).containsExactly(0, 0);
        List<BlockRange> ranges =
                many(List.of(wanted(empty, 0, 2), wanted(file, 0, 1), wanted(empty, 0, 4), wanted(empty, 2, 3)));
        assertThat(ranges.get(0).lengths()).containsExactly(0, 0);
        assertThat(ranges.get(1)).isNull();
        assertThat(ranges.get(2)).isNull();
        assertThat(ranges.get(3).lengths()).containsExactly(0);
        assertThat(reads.prefetch(SHUFFLE, List.of(empty, file), 0, 2, Runnable::run))
                .isCompleted();
        assertThat(cache.reads()).isZero();
    }

    @Test
    void aDamagedIndexIsNotKeptAndSaysSoWhereItIsReadAlone() throws Exception {
        DirectoryEntry damaged = output(1, 100);
        DirectoryEntry sound = output(2, 100);
        rows(damaged).putLong(0, -1);
        List<BlockRange> ranges = many(List.of(wanted(damaged, 5, 6), wanted(sound, 5, 6)));
        assertThat(ranges.get(0)).isNull();
        assertIs(ranges.get(1), sound, 6, 1);
        assertThat(cache.get(reads, SHUFFLE, damaged)).isNull();
        assertThat(cache.get(reads, SHUFFLE, sound)).isNotNull();
        assertThatThrownBy(() -> reads.one(wanted(damaged, 0, 1)))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("map 1");
        assertIs(reads.one(wanted(damaged, 5, 6)), damaged, 6, 1);
    }

    @Test
    void anEntryThatLeadsNowhereIsDamage() throws Exception {
        DirectoryEntry nowhere = new DirectoryEntry(1, Place.POOL, LARGEST_KEPT + 1, 1, 0, Long.MAX_VALUE, 0, 0, 5);
        assertThatThrownBy(() -> reads.one(wanted(nowhere, 1, 2)))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("index of map 1 is damaged")
                .hasCauseInstanceOf(IllegalArgumentException.class);
        assertThat(many(List.of(wanted(nowhere, 1, 2)))).containsOnlyNulls();
        assertThatThrownBy(() -> reads.one(wanted(nowhere, LARGEST_KEPT + 1, LARGEST_KEPT + 2)))
                .isInstanceOf(DirectoryFormatException.class);
    }

    @Test
    void prefetchedIndexIsNotReadAgain() throws Exception {
        DirectoryEntry first = output(1, 100);
        DirectoryEntry second = output(2, 100);
        List<DirectoryEntry> both = List.of(first, second);
        CompletableFuture<PrefetchedRows> begun = reads.prefetch(SHUFFLE, both, 5, 6, Runnable::run);
        assertThat(begun).succeedsWithin(TIMEOUT);
        assertThat(cache.reads()).isEqualTo(2);
        assertThat(reads.prefetch(SHUFFLE, both, 5, 6, Runnable::run)).isCompleted();
        counting.takeLooks();
        assertIs(reads.one(wanted(first, 5, 6)), first, 6, 1);
        assertIs(reads.one(wanted(second, 5, 6)), second, 6, 1);
        assertThat(counting.takeLooks()).isZero();
        assertThat(cache.reads()).isEqualTo(2);
    }

    /** An executor of a large cluster needs few rows of an index: READs of whole ones would bring thousands. */
    @Test
    void inALargeClusterOnlyTheRowsOfATaskAreRead() throws Exception {
        IndexCache large = new IndexCache(64 << 20, () -> 1000);
        IndexReads few = new IndexReads(counting.peer(), blocking, large);
        DirectoryEntry first = output(1, 4000);
        DirectoryEntry second = output(2, 4000);
        CompletableFuture<PrefetchedRows> begun =
                few.prefetch(SHUFFLE, List.of(first, second), 1001, 1003, Runnable::run);
        assertThat(begun).succeedsWithin(TIMEOUT);
        assertThat(large.reads()).isEqualTo(2);
        assertThat(large.bytes()).as("of no use to other tasks").isZero();
        counting.takeLooks();
        List<BlockRange> ranges = few.many(
                List.of(wanted(first, 1001, 1002), wanted(first, 1002, 1003), wanted(second, 1001, 1003)),
                begun.join());
        assertThat(counting.takeLooks()).as("prefetched").isZero();
        assertIs(ranges.get(0), first, 1500, 1);
        assertIs(ranges.get(1), first, 1501, 2);
        assertIs(ranges.get(2), second, 1500, 3);
        few.many(List.of(wanted(first, 1000, 1003)), begun.join());
        assertThat(counting.takeLooks()).as("another range").isPositive();
    }

    @Test
    void rowsOfADamagedIndexAreNotPrefetched() throws Exception {
        IndexReads few = new IndexReads(counting.peer(), blocking, new IndexCache(64 << 20, () -> 1000));
        DirectoryEntry damaged = output(1, 4000);
        rows(damaged).putLong(12 * 7, -1);
        CompletableFuture<PrefetchedRows> begun = few.prefetch(SHUFFLE, List.of(damaged), 7, 8, Runnable::run);
        assertThat(begun).succeedsWithin(TIMEOUT);
        assertThat(few.many(List.of(wanted(damaged, 7, 8)), begun.join())).containsOnlyNulls();
        assertThat(few.many(List.of(wanted(damaged, 4000, 4001)), begun.join())).containsOnlyNulls();
    }
}
