// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.LibC;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Opens a region of another process's pool, read-only.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Ownership:</b> the caller owns the mapping. It stays valid after the owner has died or removed the file:
 * unlinking does not take pages away, and pools never truncate.
 */
public final class PeerFile {
    private PeerFile() {}

    /**
     * Maps a peer's region for reading.
     *
     * @throws IOException if there is no such file
     * @throws io.rdmashuffle.ffi.NativeException if it may not be opened or mapped
     */
    public static Mapping map(Path region) throws IOException {
        // A pipe of that name would otherwise keep the caller until a writer opens it.
        int fd = PoolFiles.open(region, LibC.O_RDONLY | LibC.O_NONBLOCK);
        try {
            // The length of the open file, not of whatever has the name now.
            long length = Files.size(Path.of("/proc/self/fd/" + fd));
            return Mapping.readOnly(fd, region, length);
        } finally {
            LibC.load().close(fd);
        }
    }
}
