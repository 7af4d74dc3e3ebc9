// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuffle files through which Spark's external shuffle service serves map outputs of the pool, also when their executor
 * has ended.
 *
 * <pre>
 *  shuffle_S_M_0.index   offset of each partition in the data file, and the end of the last: 8 bytes each, big-endian
 *  shuffle_S_M_0.data    symbolic link to the region's file in memory or in the disk tier, or a copy of the bytes
 * </pre>
 *
 * An output is copied if it lies in several places, or the service cannot read the pool's files. An output with a link
 * stays where it is until it is removed: the service keeps offsets that it has read, and may be sending.
 *
 * <p><b>Threading:</b> thread-safe, as long as one output is not written or removed by two threads at once.
 *
 * <p><b>Ownership:</b> owns the files that it wrote until they are removed. The cluster manager removes what remains
 * with the application's directory.
 *
 * <p><b>Source:</b> {@code ExternalShuffleBlockResolver}, {@code ShuffleIndexInformation}.
 */
public final class ServiceFiles {
    private static final Logger LOG = LoggerFactory.getLogger(ServiceFiles.class);
    private static final int COPY_BYTES = 64 << 10;

    private final Function<String, Path> find;
    private final boolean readableByAll;
    private final ShuffleCounters counters;
    private volatile boolean links;

    /**
     * Creates files for a service that has not been tried yet.
     *
     * @param find finds the place of a block's file by its name, {@code DiskBlockManager.getFile}
     * @param readableByAll whether other users may read the files, in directories that only some may enter, as with
     *     {@code DiskBlockManager.createTempFileWith} (SPARK-37618)
     * @param counters count copies
     */
    public ServiceFiles(Function<String, Path> find, boolean readableByAll, ShuffleCounters counters) {
        this.find = find;
        this.readableByAll = readableByAll;
        this.counters = counters;
    }

    /** Sets whether the service can read files of the pool; until then outputs are copied. */
    public void setLinks(boolean canReadPool) {
        links = canReadPool;
    }

    /**
     * Writes the files of an output, before it is published.
     *
     * @param output to which the caller holds a reference
     * @return whether it has; false if they are there, which another output of the same id has written
     * @throws IOException if the disk is full or fails; no file is left then
     */
    boolean write(int shuffleId, MapOutput output) throws IOException {
        return write(shuffleId, output, links);
    }

    /** Writes the files of an output with a link, whether or not the service was found to follow it. */
    public boolean writeLink(int shuffleId, MapOutput output) throws IOException {
        return write(shuffleId, output, true);
    }

    private boolean write(int shuffleId, MapOutput output, boolean link) throws IOException {
        BlockRange all = output.range(0, output.entry().partitions());
        if (all.slices().isEmpty()) {
            return true;
        }
        Path data = data(shuffleId, output.entry().mapId());
        Path target = link ? output.file() : null;
        if (target != null && !Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS)) {
            // Another program has removed it.
            target = null;
        }
        byte[] offsets =
                offsets(all.lengths(), target == null ? 0 : output.entry().dataOffset());
        Path index = index(shuffleId, output.entry().mapId());
        try {
            create(index);
        } catch (FileAlreadyExistsException e) {
            return false;
        }
        boolean complete = false;
        try {
            Files.write(index, offsets);
            if (target == null) {
                create(data);
                copy(output, all, data);
                counters.add(ShuffleCounter.MAP_OUTPUTS_COPIED, 1);
            } else {
                Files.createSymbolicLink(data, target);
            }
            complete = true;
            return true;
        } finally {
            if (!complete) {
                remove(shuffleId, output.entry().mapId());
            }
        }
    }

    private void create(Path file) throws IOException {
        Files.createFile(file);
        if (readableByAll) {
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
            permissions.add(PosixFilePermission.OTHERS_READ);
            Files.setPosixFilePermissions(file, permissions);
        }
    }

    private static byte[] offsets(long[] lengths, long start) {
        ByteBuffer offsets = ByteBuffer.allocate(Math.multiplyExact(lengths.length + 1, Long.BYTES));
        long next = start;
        offsets.putLong(next);
        for (long length : lengths) {
            next += length;
            offsets.putLong(next);
        }
        return offsets.array();
    }

    private static void copy(MapOutput output, BlockRange all, Path to) throws IOException {
        try (OutputStream out = Files.newOutputStream(to, StandardOpenOption.WRITE)) {
            StoredSlice.writeAll(output.bytes(all), out, new byte[COPY_BYTES]);
        }
    }

    /** Removes the files of an output, before its bytes in the pool are freed. */
    public void remove(int shuffleId, long mapId) {
        try {
            Files.deleteIfExists(index(shuffleId, mapId));
            Files.deleteIfExists(data(shuffleId, mapId));
        } catch (Exception e) {
            // Spark throws IOException without declaring it, if it cannot create the file's directory.
            LOG.debug(
                    "Cannot remove the files of map output {} of shuffle {}; they go with the application's directory",
                    mapId,
                    shuffleId,
                    e);
        }
    }

    private Path index(int shuffleId, long mapId) {
        return find.apply("shuffle_" + shuffleId + "_" + mapId + "_0.index");
    }

    private Path data(int shuffleId, long mapId) {
        return find.apply("shuffle_" + shuffleId + "_" + mapId + "_0.data");
    }

    /** Removes the files of an output, where there are such files. */
    static void remove(@Nullable ServiceFiles files, int shuffleId, MapOutput output) {
        if (files != null && output.entry().extents() > 0) {
            files.remove(shuffleId, output.entry().mapId());
        }
    }
}
