// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.PeerFiles;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.FileIdentity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * Location of a process's pool, with the boot id of its kernel.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "SHM3"
 *       4     16  boot id of the kernel (most significant half first)
 *      20      4  user id of the owner
 *      24      8  st_dev of region 0's file
 *      32      8  st_ino of region 0's file
 *      40      8  bytes of region 0's file
 *      48      2  length of the path
 *      50      n  path of the pool's own directory, UTF-8
 *          n + 50    the disk tier, as {@link ShmDisk} says
 *    then      4  CRC-32C of everything before
 * </pre>
 *
 * Same boot id means same kernel; same device and inode, found again under the path, mean the same mount. Containers on
 * one host share the boot id but not the mount. Further regions are published in the directory: see {@link PeerFiles}.
 *
 * <p><b>Source:</b> random(4) (boot_id), inode(7).
 *
 * @param bootId changes with every boot of a host
 * @param files region 0, its owner, and the directory
 * @param disk where the disk tier is
 */
record ShmAddress(UUID bootId, PeerFiles files, ShmDisk disk) {
    private static final int MAGIC = 0x334D4853;
    private static final int FIXED_BYTES = 50;
    private static final int CRC_BYTES = Integer.BYTES;
    private static final int MAX_PATH_BYTES = 3072;
    /** Largest address of one fabric that the registry accepts. */
    private static final int MAX_BYTES = 4096;

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /** Describes this process's pool by its first region. */
    static ShmAddress of(Region region0) {
        try {
            return new ShmAddress(currentBootId(), PeerFiles.of(region0), ShmDisk.NONE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns this address with a disk tier, or as it is if its directories' paths take too much room. */
    ShmAddress with(ShmDisk found) {
        int used = FIXED_BYTES + CRC_BYTES + path().length;
        return found.encodedBytes() <= MAX_BYTES - used ? new ShmAddress(bootId, files, found) : this;
    }

    static UUID currentBootId() {
        try {
            return UUID.fromString(Files.readString(BOOT_ID).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] path() {
        return files.directory().toString().getBytes(StandardCharsets.UTF_8);
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }

    byte[] encode() {
        byte[] path = path();
        if (path.length > MAX_PATH_BYTES) {
            throw new IllegalArgumentException("spark.shuffle.rdma.pool.directory is too long: " + path.length
                    + " bytes, at most " + MAX_PATH_BYTES);
        }
        ByteBuffer out = ByteBuffer.allocate(FIXED_BYTES + path.length + disk.encodedBytes() + CRC_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putLong(bootId.getMostSignificantBits())
                .putLong(bootId.getLeastSignificantBits())
                .putInt(files.uid())
                .putLong(files.region0().device())
                .putLong(files.region0().inode())
                .putLong(files.region0Bytes())
                .putShort((short) path.length)
                .put(path);
        disk.encode(out);
        return out.putInt(crc(out.array(), out.position())).array();
    }

    static ShmAddress decode(byte[] encoded) throws PeerUnreachableException {
        int end = encoded.length - CRC_BYTES;
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        if (end < FIXED_BYTES || in.getInt() != MAGIC) {
            throw new PeerUnreachableException("the peer's shared-memory address has an unknown version");
        }
        if (in.getInt(end) != crc(encoded, end)) {
            throw new PeerUnreachableException("the peer's shared-memory address is damaged");
        }
        in.limit(end);
        UUID bootId = new UUID(in.getLong(), in.getLong());
        int uid = in.getInt();
        FileIdentity region0 = new FileIdentity(in.getLong(), in.getLong());
        long region0Bytes = in.getLong();
        Path path = ShmDisk.readPath(in);
        return new ShmAddress(bootId, new PeerFiles(path, uid, region0, region0Bytes), ShmDisk.decode(in));
    }
}
