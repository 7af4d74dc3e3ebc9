// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.kenai.jffi.CallContext;
import com.kenai.jffi.CallingConvention;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Library;
import com.kenai.jffi.Type;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.spark.network.shuffle.ExecutorDiskUtils;
import org.apache.spark.network.shuffle.ExternalShuffleBlockResolver;
import org.apache.spark.network.shuffle.protocol.ExecutorShuffleInfo;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the block resolver of Spark's external shuffle service makes of these files. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ServiceFilesTest {
    private static final long CAP_BYTES = 1 << 20;
    private static final int SUBDIRECTORIES = 64;
    private static final int PARTITIONS = 5;

    @TempDir(factory = ShmTempDirs.class)
    Path shared;

    @TempDir
    Path local;

    private final Random random = new Random(7);
    private final ShuffleCounters counters = new ShuffleCounters();
    private final ServiceFiles files = new ServiceFiles(this::find, true, counters);
    private ExternalShuffleBlockResolver service;
    private Pool memory;
    private TieredPool pool;
    private MapOutputStore store;

    @BeforeEach
    void open() throws Exception {
        memory = TestPools.create(shared, CAP_BYTES, CAP_BYTES);
        pool = new TieredPool(memory, TestPools.diskTier(0, local));
        store = new MapOutputStore(MapOutputDirectory.create(memory, 16, UUID.randomUUID()), counters, files);
        service = new ExternalShuffleBlockResolver(new TransportConf("shuffle", MapConfigProvider.EMPTY), null);
        service.registerExecutor(
                "app",
                "1",
                new ExecutorShuffleInfo(new String[] {local.toString()}, SUBDIRECTORIES, "any.ShuffleManager"));
        files.setLinks(true);
    }

    @AfterEach
    void close() {
        store.close();
        assertThat(memory.usage().leases()).isZero();
        memory.close();
        Objects.requireNonNull(pool.disk()).close();
    }

    private Path find(String name) {
        Path path = Path.of(ExecutorDiskUtils.getFilePath(new String[] {local.toString()}, SUBDIRECTORIES, name));
        try {
            Files.createDirectories(Objects.requireNonNull(path.getParent()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return path;
    }

    private byte[][] write(int shuffleId, long mapId, int bytes) throws Exception {
        byte[][] content = TestStores.partitions(PARTITIONS, bytes, random);
        store.add(shuffleId, store.epoch(shuffleId), TestStores.write(pool, mapId, content));
        return content;
    }

    private void assertServed(int shuffleId, long mapId, byte[][] content) throws IOException {
        ByteArrayOutputStream middle = new ByteArrayOutputStream();
        for (int p = 0; p < PARTITIONS; p++) {
            ByteBuffer block =
                    service.getBlockData("app", "1", shuffleId, mapId, p).nioByteBuffer();
            assertThat(block).as("partition %s", p).isEqualTo(ByteBuffer.wrap(content[p]));
            middle.write(p > 0 && p < PARTITIONS - 1 ? content[p] : new byte[0]);
        }
        assertThat(service.getContinuousBlocksData("app", "1", shuffleId, mapId, 1, PARTITIONS - 1)
                        .nioByteBuffer())
                .isEqualTo(ByteBuffer.wrap(middle.toByteArray()));
    }

    private boolean isCopy(int shuffleId, long mapId) {
        return Files.isRegularFile(find("shuffle_" + shuffleId + "_" + mapId + "_0.data"), NOFOLLOW_LINKS);
    }

    private long files() throws IOException {
        try (Stream<Path> all = Files.walk(local)) {
            return all.filter(file -> String.valueOf(file.getFileName()).startsWith("shuffle_"))
                    .count();
        }
    }

    /** Sets the permissions that new files of this process do not get, and returns those before; umask(2). */
    private static int umask(int mask) {
        long address = Library.getDefault().getSymbolAddress("umask");
        return Invoker.getInstance()
                .invokeI1(
                        CallContext.getCallContext(Type.UINT, new Type[] {Type.UINT}, CallingConvention.DEFAULT, false),
                        address,
                        mask);
    }

    /** A service of another user cannot read private files of the pool; those on disk it reads as Spark's own. */
    @Test
    void filesOnDiskAreReadableByAllIfSparksAre() throws Exception {
        files.setLinks(false);
        int mask = umask(0077);
        try {
            write(1, 10, 2000);
        } finally {
            umask(mask);
        }
        for (String file : new String[] {"shuffle_1_10_0.index", "shuffle_1_10_0.data"}) {
            assertThat(Files.getPosixFilePermissions(find(file))).as(file).contains(PosixFilePermission.OTHERS_READ);
        }
    }

    @Test
    void anOutputInOnePieceIsALinkToThePool() throws Exception {
        byte[][] first = write(1, 10, 2000);
        byte[][] second = write(1, 11, 2000);
        assertServed(1, 10, first);
        assertServed(1, 11, second);
        assertThat(isCopy(1, 11)).isFalse();
        assertThat(files()).isEqualTo(4);
        store.removeShuffle(1);
        assertThat(files()).isZero();
        assertThat(counters.snapshot()).containsEntry(ShuffleCounter.MAP_OUTPUTS_COPIED, 0L);
    }

    @Test
    void anOutputInSeveralPiecesIsCopied() throws Exception {
        byte[][] large = write(1, 10, (int) CAP_BYTES);
        assertThat(isCopy(1, 10))
                .as("some of it lies in memory, the rest on disk")
                .isTrue();
        assertServed(1, 10, large);
        byte[][] onDisk = write(1, 11, 20_000);
        assertThat(isCopy(1, 11)).as("all of it in one piece on disk").isFalse();
        assertServed(1, 11, onDisk);
        assertThat(counters.snapshot()).containsEntry(ShuffleCounter.MAP_OUTPUTS_COPIED, 1L);
        store.removeShuffle(1);
        assertThat(files()).isZero();
    }

    /** As an executor of the host does when the pools of ended ones hold too much memory. */
    @Test
    void outputsOnDiskAreServedWithoutThePool() throws Exception {
        byte[][] first = write(1, 10, 2000);
        // Spark puts index and data into directories that have nothing to do with each other.
        byte[][] other = write(1, 14, 2000);
        assertThat(find("shuffle_1_14_0.data").getParent())
                .isNotEqualTo(find("shuffle_1_14_0.index").getParent());
        byte[][] removed = write(2, 13, 2000);
        byte[][] large = write(1, 11, (int) CAP_BYTES);
        byte[][] onDisk = write(1, 12, 20_000);
        assertServed(1, 10, first);
        Path copied = find("shuffle_1_11_0.data");
        Object identity =
                Files.readAttributes(copied, BasicFileAttributes.class).fileKey();
        Path pools = Objects.requireNonNull(memory.filesPath());

        assertThat(copies(0).replaceLinks(Set.of(1))).isEqualTo(2);
        assertThat(isCopy(1, 10)).isTrue();
        assertThat(isCopy(1, 12)).as("in the disk tier").isFalse();
        assertThat(Files.readAttributes(copied, BasicFileAttributes.class).fileKey())
                .isEqualTo(identity);
        try (Stream<Path> regions = Files.list(pools)) {
            for (Path region : regions.toList()) {
                Files.delete(region);
            }
        }
        assertServed(1, 10, first);
        assertServed(1, 14, other);
        assertServed(1, 11, large);
        assertServed(1, 12, onDisk);
        assertThat(removed).isNotEmpty();
        assertThat(copies(0).replaceLinks(Set.of(1))).isZero();
        try (Stream<Path> all = Files.walk(local)) {
            assertThat(all.map(file -> String.valueOf(file.getFileName())).filter(name -> name.startsWith("shuffle_")))
                    .as("nothing incomplete, and nothing of a shuffle that is not needed")
                    .allMatch(name -> name.matches("shuffle_1_\\d+_0\\.(index|data)"));
        }
    }

    private ServiceCopies copies(long minFreeBytes) {
        return new ServiceCopies(List.of(local), minFreeBytes);
    }

    private void assertFails(ServiceCopies copies, String message) {
        assertThatThrownBy(() -> copies.replaceLinks(Set.of(1)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(message);
    }

    @Test
    void linksStayIfOutputsCannotBeCopied() throws Exception {
        byte[][] content = write(1, 10, 2000);
        Path index = find("shuffle_1_10_0.index");
        byte[] offsets = Files.readAllBytes(index);
        Files.write(index, new byte[Long.BYTES]);
        assertFails(copies(0), "is no index");
        ByteBuffer beyond = ByteBuffer.allocate(2 * Long.BYTES).putLong(0).putLong(CAP_BYTES + 1);
        Files.write(index, beyond.array());
        assertFails(copies(0), "ends before");
        Files.write(index, offsets);
        assertFails(copies(Long.MAX_VALUE / 2), "bytes free");
        assertFails(new ServiceCopies(List.of(local.resolve("absent")), 0), "absent");
        assertThat(isCopy(1, 10)).isFalse();
        assertServed(1, 10, content);
        assertThat(files()).as("nothing incomplete is left").isEqualTo(2);
    }

    /** One that the driver takes for lost may do so. */
    @Test
    void theOwnerMayRemoveOutputsMeanwhile() throws Exception {
        for (int mapId = 0; mapId < 40; mapId++) {
            write(1 + mapId % 2, mapId, 2000);
        }
        Thread owner = new Thread(() -> store.removeShuffle(1));
        owner.start();
        int replaced = copies(0).replaceLinks(Set.of(1, 2));
        owner.join();
        assertThat(replaced).isBetween(20, 40);
        try (Stream<Path> all = Files.walk(local)) {
            assertThat(all.filter(Files::isRegularFile).map(file -> String.valueOf(file.getFileName())))
                    .allMatch(name -> name.matches("shuffle_2_\\d+_0\\.(index|data)"));
        }
    }

    @Test
    void twoMayReplaceLinksAtOnce() throws Exception {
        List<byte[][]> contents = new ArrayList<>();
        for (int mapId = 0; mapId < 40; mapId++) {
            contents.add(write(1, mapId, 2000));
        }
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            Future<Integer> first = other.submit(() -> copies(0).replaceLinks(Set.of(1)));
            int second = copies(0).replaceLinks(Set.of(1));
            assertThat(first.get() + second).isBetween(40, 80);
        } finally {
            other.shutdownNow();
        }
        for (int mapId = 0; mapId < 40; mapId++) {
            assertThat(isCopy(1, mapId)).isTrue();
            assertServed(1, mapId, contents.get(mapId));
        }
        assertThat(files()).isEqualTo(80);
    }

    @Test
    void aServiceThatCannotReadThePoolGetsCopies() throws Exception {
        files.setLinks(false);
        byte[][] content = write(1, 10, 2000);
        assertThat(isCopy(1, 10)).isTrue();
        assertServed(1, 10, content);
    }

    @Test
    void anOutputWhosePoolFileIsGoneIsCopied() throws Exception {
        try (Stream<Path> all = Files.walk(shared)) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                Files.delete(file);
            }
        }
        byte[][] content = write(1, 10, 2000);
        assertThat(isCopy(1, 10)).isTrue();
        assertServed(1, 10, content);
    }

    @Test
    void emptyOutputsHaveNoFiles() throws Exception {
        store.add(1, 0, TestStores.write(pool, 10, new byte[PARTITIONS][0]));
        assertThat(files()).isZero();
    }

    @Test
    void filesOfAnotherOutputStay() throws Exception {
        byte[][] content = write(1, 10, 2000);
        assertThatThrownBy(() -> write(1, 10, 2000)).isInstanceOf(IOException.class);
        assertServed(1, 10, content);
        assertThat(store.isPooled(1, 10)).isTrue();
    }

    @Test
    void anOutputOfARemovedShuffleLeavesNoFiles() throws Exception {
        int epoch = store.epoch(1);
        store.removeShuffle(1);
        byte[][] content = TestStores.partitions(PARTITIONS, 2000, random);
        assertThatThrownBy(() -> store.add(1, epoch, TestStores.write(pool, 10, content)))
                .isInstanceOf(IOException.class);
        assertThat(files()).isZero();
    }
}
