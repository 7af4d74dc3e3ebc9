// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Second tier of the pool, for output that does not fit in memory: files in each of Spark's local directories,
 * allocated as leases. A file grows by pieces reserved on disk, releases freed ranges to the file system, and is
 * truncated with its last lease.
 *
 * <pre>
 *  region   2^24 + f * n + i   file   &lt;directory i of n&gt;/rdma-shuffle-&lt;token&gt;.f.data
 * </pre>
 *
 * The files lie where Spark removes them when the executor is killed, unless an external shuffle service serves them:
 * that keeps files with this suffix until the application ends.
 *
 * <p><b>Threading:</b> thread-safe. Nothing waits for room; a reservation waits for a file to grow, a system call that
 * reserves blocks.
 *
 * <p><b>Ownership:</b> owns its files. A file whose leases are still out when the tier closes stays open until the last
 * of them is back.
 */
public final class DiskTier implements AutoCloseable {
    /** Files that a peer believes one of its peers to have in a directory. */
    public static final int MAX_FILES = 64;

    /** Bytes that a map output collects before it writes to its file. */
    static final long BUFFER_BYTES = 256 << 10;

    /** Kept for the next map output; a few more than there are tasks at once. */
    private static final int MAX_IDLE_BUFFERS = 32;

    private final DiskSettings settings;
    private final UUID token = UUID.randomUUID();
    private final AtomicInteger turn = new AtomicInteger();
    private final DiskPace pace = new DiskPace();
    private final BlockingQueue<NativeBuffer> buffers = new ArrayBlockingQueue<>(MAX_IDLE_BUFFERS);
    private final Supplier<List<Path>> directories;
    private @Nullable List<DiskDirectory> files;
    private boolean retired;
    private boolean closed;

    /**
     * Creates a tier without files.
     *
     * @param directories Spark's local directories, asked for when the first is needed: they may come into being after
     *     the pool
     */
    public DiskTier(DiskSettings settings, Supplier<List<Path>> directories) {
        this.settings = settings;
        this.directories = directories;
    }

    /** Returns the file of a region, from the directories and the token that its owner has announced. */
    public static Path file(List<Path> directories, UUID token, int regionId) {
        int index = regionId - Region.FIRST_ON_DISK;
        String name = "rdma-shuffle-" + token + "." + index / directories.size() + ".data";
        return directories.get(index % directories.size()).resolve(name);
    }

    /** Returns the token in the files' names, which is unique to this tier. */
    public UUID token() {
        return token;
    }

    /** Returns the directories, in the order of the regions. */
    public List<Path> directories() {
        return files().stream().map(DiskDirectory::path).toList();
    }

    /**
     * Leases {@code preferred} bytes, or fewer but at least {@code minimum} where the disk is short; the directories
     * take turns.
     *
     * @return null when no directory has room
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred) {
        List<DiskDirectory> all = files();
        int first = turn.getAndIncrement();
        for (int i = 0; i < all.size(); i++) {
            Lease lease = all.get(Math.floorMod(first + i, all.size())).reserve(purpose, minimum, preferred);
            if (lease != null) {
                return lease;
            }
        }
        return null;
    }

    /**
     * Returns a range of a region for an untrusted request; null unless all of it is leased now. If the lease ends
     * meanwhile, other bytes are read, as in memory; readers verify checksums.
     */
    public @Nullable FileSlice leased(int regionId, long offset, long lengthBytes) {
        List<DiskDirectory> all = existing();
        int index = regionId - Region.FIRST_ON_DISK;
        DiskTierFile file =
                index < 0 || all.isEmpty() ? null : all.get(index % all.size()).file(index / all.size());
        return file == null ? null : file.leased(offset, lengthBytes);
    }

    /** Returns the number of the directory that has a region's file, 0 if none has. */
    public int directoryOf(int regionId) {
        int index = regionId - Region.FIRST_ON_DISK;
        int count = existing().size();
        return index < 0 || count == 0 ? 0 : index % count;
    }

    /** Uses a region's directory no more for a while, after a write to it has failed. */
    public void failed(Region region, IOException cause) {
        List<DiskDirectory> all = files();
        all.get((region.id() - Region.FIRST_ON_DISK) % all.size()).refuse(cause);
    }

    /** Returns the recent time per written byte. */
    public DiskPace pace() {
        return pace;
    }

    /** Returns the numbers of this moment. */
    public DiskUsage usage() {
        return existing().stream().map(DiskDirectory::usage).reduce(DiskUsage.NONE, DiskUsage::plus);
    }

    /** Leases nothing from now on. */
    public void retire() {
        synchronized (this) {
            retired = true;
        }
        existing().forEach(DiskDirectory::retire);
    }

    /** Lends a buffer of {@link #BUFFER_BYTES}, which the caller hands back or closes. */
    NativeBuffer takeBuffer() {
        NativeBuffer idle = buffers.poll();
        return idle == null ? new NativeBuffer(BUFFER_BYTES) : idle;
    }

    /** Releases a buffer. */
    void returnBuffer(NativeBuffer buffer) {
        if (!buffers.offer(buffer)) {
            buffer.close();
        }
    }

    private synchronized List<DiskDirectory> existing() {
        return files == null ? List.of() : files;
    }

    private synchronized List<DiskDirectory> files() {
        List<DiskDirectory> known = files;
        if (known == null) {
            known = new ArrayList<>();
            if (!retired) {
                List<Path> found = directories.get();
                for (int i = 0; i < found.size(); i++) {
                    known.add(directory(found, i));
                }
            }
            files = known;
        }
        return known;
    }

    private DiskDirectory directory(List<Path> all, int index) {
        List<DiskTierFile> inIt = new ArrayList<>();
        for (int f = 0; f < settings.files(); f++) {
            int regionId = Region.FIRST_ON_DISK + f * all.size() + index;
            inIt.add(new DiskTierFile(regionId, all.get(index), file(all, token, regionId), settings));
        }
        return new DiskDirectory(all.get(index), inIt);
    }

    /**
     * Removes the files at once; later calls do nothing.
     *
     * @throws IllegalStateException if leases are out; their files stay open until they are returned
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            retired = true;
        }
        int leases = usage().leases();
        existing().forEach(DiskDirectory::close);
        for (NativeBuffer idle = buffers.poll(); idle != null; idle = buffers.poll()) {
            idle.close();
        }
        if (leases > 0) {
            throw new IllegalStateException("disk tier closed while " + leases + " leases are out");
        }
    }
}
