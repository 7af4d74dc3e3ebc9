// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.disk.DiskSettings;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;

/** Pools and leases of tests, which have room or fail. */
public final class TestPools {
    private TestPools() {}

    public static Pool create(Path directory, long capBytes, long regionBytes, RegionListener listener) {
        return Pool.create(new PoolSettings(directory, capBytes, 0, regionBytes, false), listener);
    }

    public static Pool create(Path directory, long capBytes, long regionBytes) {
        return create(directory, capBytes, regionBytes, region -> {});
    }

    /** Leases bytes that must be there. */
    public static Lease reserve(Pool pool, Purpose purpose, long bytes) throws InterruptedException {
        return Objects.requireNonNull(pool.reserve(purpose, bytes, bytes, Duration.ZERO), "the pool is full");
    }

    /** Leases bytes and fills them from {@code random}. */
    public static Lease filled(Pool pool, int bytes, Random random) throws InterruptedException {
        Lease lease = reserve(pool, Purpose.MAP_OUTPUT, bytes);
        byte[] content = new byte[bytes];
        random.nextBytes(content);
        lease.memory().putBytes(0, content, 0, bytes);
        return lease;
    }

    /** Leases bytes of the disk tier and fills them. */
    public static Lease filledOnDisk(TieredPool pool, byte[] content) {
        DiskTier tier = Objects.requireNonNull(pool.disk(), "no disk tier");
        Lease lease = Objects.requireNonNull(
                tier.reserve(Purpose.MAP_OUTPUT, content.length, content.length), "the disk is full");
        try (NativeBuffer buffer = new NativeBuffer(content.length)) {
            buffer.putBytes(0, content, 0, content.length);
            if (!pool.write(lease, 0, new MemorySlice(buffer.address(), content.length))) {
                throw new AssertionError("cannot write to the disk tier");
            }
        }
        return lease;
    }

    /** Leases all that is left, so that the pool cannot give anything more. */
    public static List<Lease> fill(Pool pool) throws InterruptedException {
        List<Lease> all = new ArrayList<>();
        long piece = pool.usage().capBytes();
        while (piece >= FreeExtents.GRANULE_BYTES) {
            Lease lease = pool.reserve(Purpose.MAP_OUTPUT, piece, piece, Duration.ZERO);
            if (lease == null) {
                piece /= 2;
            } else {
                all.add(lease);
            }
        }
        return all;
    }

    /** Returns the number of bytes that can be leased before the pool is full; releases them. */
    public static long fillable(Pool pool) throws InterruptedException {
        List<Lease> all = fill(pool);
        long bytes = all.stream().mapToLong(Lease::lengthBytes).sum();
        all.forEach(Lease::close);
        return bytes;
    }

    /** Creates a disk tier with files in these directories. */
    public static DiskTier diskTier(long minFreeBytes, Path... directories) {
        return new DiskTier(new DiskSettings(1 << 20, minFreeBytes, 1), () -> List.of(directories));
    }

    /** Creates a disk tier with several files in a directory. */
    public static DiskTier diskTierOf(int files, Path directory) {
        return new DiskTier(new DiskSettings(1 << 20, 0, files), () -> List.of(directory));
    }

    /** Returns the region files of all pools in a directory. */
    public static List<Path> files(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Maps a region as a peer of the host does. */
    public static Mapping mapAsPeer(Pool owner, int regionId) throws IOException {
        return PeerFiles.of(owner.regions().get(0)).map(regionId);
    }

    public static byte[] bytes(StoredSlice slice) {
        byte[] copy = new byte[Math.toIntExact(slice.lengthBytes())];
        try {
            slice.getBytes(0, copy, 0, copy.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return copy;
    }
}
