// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Identity of a file for this kernel: device and inode.
 *
 * <p>Each tmpfs mount has a device number of its own, so two containers on one host whose {@code /dev/shm} are
 * different mounts never mistake one for the other.
 *
 * <p><b>Source:</b> inode(7).
 *
 * @param device {@code st_dev}
 * @param inode {@code st_ino}
 */
public record FileIdentity(long device, long inode) {
    /** Reads the identity of the file that {@code path} leads to, links followed. */
    public static FileIdentity of(Path path) throws IOException {
        Map<String, Object> attributes = Files.readAttributes(path, "unix:dev,ino");
        return new FileIdentity(number(attributes, "dev"), number(attributes, "ino"));
    }

    private static long number(Map<String, Object> attributes, String name) {
        return attributes.get(name) instanceof Number number ? number.longValue() : -1;
    }
}
