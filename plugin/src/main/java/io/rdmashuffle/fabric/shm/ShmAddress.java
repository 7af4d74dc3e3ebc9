// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.FileIdentity;
import io.rdmashuffle.memory.Region;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.UUID;

/**
 * Where a process keeps its pool, and on which running kernel.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "SHM1"
 *       4     16  boot id of the kernel (most significant half first)
 *      20      8  st_dev of region 0's file
 *      28      8  st_ino of region 0's file
 *      36      2  length of the path
 *      38      n  path of region 0's file without ".0", UTF-8
 * </pre>
 *
 * Same boot id means same kernel; same device and inode, found again under the path, mean the same mount. Containers on
 * one host share the boot id but not the mount.
 *
 * <p><b>Source:</b> random(4) (boot_id), inode(7).
 *
 * @param bootId changes with every boot of a host
 * @param region0 identity of region 0's file
 * @param stem path of all region files without the dot and the region's number
 */
record ShmAddress(UUID bootId, FileIdentity region0, String stem) {
    private static final int MAGIC = 0x314D4853;
    private static final int FIXED_BYTES = 38;
    private static final int MAX_PATH_BYTES = 3072;
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /** Describes this process's pool by its first region. */
    static ShmAddress of(Region region0) {
        String path = region0.file().toString();
        try {
            return new ShmAddress(
                    currentBootId(), FileIdentity.of(region0.file()), path.substring(0, path.length() - ".0".length()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static UUID currentBootId() {
        try {
            return UUID.fromString(Files.readString(BOOT_ID).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the path of a region's file. */
    Path file(int regionId) {
        return Path.of(stem + "." + regionId);
    }

    byte[] encode() {
        byte[] path = stem.getBytes(StandardCharsets.UTF_8);
        if (path.length > MAX_PATH_BYTES) {
            throw new IllegalArgumentException("spark.shuffle.rdma.pool.directory is too long: " + path.length
                    + " bytes, at most " + MAX_PATH_BYTES);
        }
        return ByteBuffer.allocate(FIXED_BYTES + path.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putLong(bootId.getMostSignificantBits())
                .putLong(bootId.getLeastSignificantBits())
                .putLong(region0.device())
                .putLong(region0.inode())
                .putShort((short) path.length)
                .put(path)
                .array();
    }

    static ShmAddress decode(byte[] encoded) throws PeerUnreachableException {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        if (encoded.length < FIXED_BYTES || in.getInt() != MAGIC) {
            throw new PeerUnreachableException("the peer's shared-memory address has an unknown version");
        }
        UUID bootId = new UUID(in.getLong(), in.getLong());
        FileIdentity region0 = new FileIdentity(in.getLong(), in.getLong());
        int length = Short.toUnsignedInt(in.getShort());
        if (length != in.remaining() || length > MAX_PATH_BYTES) {
            throw new PeerUnreachableException("the peer's shared-memory address is damaged");
        }
        ShmAddress address = new ShmAddress(
                bootId, region0, StandardCharsets.UTF_8.decode(in).toString());
        try {
            address.file(0);
        } catch (InvalidPathException e) {
            throw new PeerUnreachableException("the peer's shared-memory address is damaged", e);
        }
        return address;
    }
}
