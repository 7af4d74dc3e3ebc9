// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.slice.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Location of the files of a process's disk tier.
 *
 * <pre>
 *  bytes   little-endian
 *     16   token of the tier, which its files' names have (most significant half first)
 *      2   directories n, and then n times:
 *      8     st_dev of the directory
 *      8     st_ino of the directory
 *      2     length of the path
 *      m     path of the directory, UTF-8
 * </pre>
 *
 * @param token see {@link DiskTier#token}
 * @param directories in the order of the tier's regions; empty if there is no such tier
 */
record ShmDisk(UUID token, List<Directory> directories) {
    /** No disk tier. */
    static final ShmDisk NONE = new ShmDisk(new UUID(0, 0), List.of());

    private static final int FIXED_BYTES = 18;
    private static final int DIRECTORY_BYTES = 18;

    /** A directory by its identity, which proves that this process sees the same one under the path. */
    record Directory(FileIdentity identity, Path path) {
        private int encodedBytes() {
            return DIRECTORY_BYTES + pathBytes().length;
        }

        private byte[] pathBytes() {
            return path.toString().getBytes(StandardCharsets.UTF_8);
        }
    }

    /** Describes the disk tier of this process. */
    static ShmDisk of(DiskTier tier) throws IOException {
        List<Directory> directories = new ArrayList<>();
        for (Path path : tier.directories()) {
            directories.add(new Directory(FileIdentity.of(path), path.toAbsolutePath()));
        }
        return new ShmDisk(tier.token(), List.copyOf(directories));
    }

    int encodedBytes() {
        return FIXED_BYTES
                + directories.stream().mapToInt(Directory::encodedBytes).sum();
    }

    void encode(ByteBuffer out) {
        out.putLong(token.getMostSignificantBits()).putLong(token.getLeastSignificantBits());
        out.putShort((short) directories.size());
        for (Directory each : directories) {
            byte[] path = each.pathBytes();
            out.putLong(each.identity().device()).putLong(each.identity().inode());
            out.putShort((short) path.length).put(path);
        }
    }

    /** Decodes the rest of a buffer. */
    static ShmDisk decode(ByteBuffer in) throws PeerUnreachableException {
        if (in.remaining() < FIXED_BYTES) {
            throw damaged(null);
        }
        UUID token = new UUID(in.getLong(), in.getLong());
        int count = Short.toUnsignedInt(in.getShort());
        List<Directory> directories = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            directories.add(directory(in));
        }
        if (in.hasRemaining()) {
            throw damaged(null);
        }
        return new ShmDisk(token, List.copyOf(directories));
    }

    private static Directory directory(ByteBuffer in) throws PeerUnreachableException {
        if (in.remaining() < DIRECTORY_BYTES) {
            throw damaged(null);
        }
        FileIdentity identity = new FileIdentity(in.getLong(), in.getLong());
        return new Directory(identity, readPath(in));
    }

    /** Reads 2 bytes of length and a path in UTF-8. */
    static Path readPath(ByteBuffer in) throws PeerUnreachableException {
        int length = Short.toUnsignedInt(in.getShort());
        if (length > in.remaining()) {
            throw damaged(null);
        }
        byte[] path = new byte[length];
        in.get(path);
        try {
            return Path.of(new String(path, StandardCharsets.UTF_8));
        } catch (InvalidPathException e) {
            throw damaged(e);
        }
    }

    private static PeerUnreachableException damaged(@Nullable Exception cause) {
        return new PeerUnreachableException("the peer's shared-memory address is damaged", cause);
    }

    /** Returns whether this process sees every directory. */
    boolean isVisible() {
        try {
            for (Directory each : directories) {
                if (!FileIdentity.of(each.path()).equals(each.identity())) {
                    return false;
                }
            }
            return !directories.isEmpty();
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the file of a region; null if the tier has none of that number. */
    @Nullable
    Path file(int regionId) {
        List<Path> paths = directories.stream().map(Directory::path).toList();
        int regions = paths.size() * DiskTier.MAX_FILES;
        return regionId - Region.FIRST_ON_DISK < regions ? DiskTier.file(paths, token, regionId) : null;
    }
}
