// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.memory.host.FreeSpace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A directory that an executor would write to.
 *
 * @param exists whether it is there, and a directory
 * @param problem why no file can be created in it; empty if one can
 * @param type of its file system, as /proc/mounts has it
 * @param freeBytes that this user may use
 * @param exposed whether other users may rename and delete its entries: it is writable by others and has no sticky
 *     bit
 */
record Place(boolean exists, String problem, String type, long freeBytes, boolean exposed) {
    private static final int WRITABLE_BY_OTHERS = 0002;
    private static final int STICKY = 01000;

    /** Access to a directory; tests replace it. */
    interface Look {
        Place at(Path directory);
    }

    /** Creates a file there and removes it again. */
    static Place look(Path directory) {
        if (!Files.isDirectory(directory)) {
            return new Place(false, Files.exists(directory) ? "it is no directory" : "it does not exist", "", 0, false);
        }
        String problem = "";
        try {
            Files.delete(Files.createTempFile(directory, "rdma-shuffle-doctor-", ""));
        } catch (IOException e) {
            problem = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        try {
            return new Place(
                    true, problem, Files.getFileStore(directory).type(), FreeSpace.of(directory), isExposed(directory));
        } catch (IOException e) {
            return new Place(true, problem.isEmpty() ? String.valueOf(e.getMessage()) : problem, "", 0, false);
        }
    }

    /** Examines the permissions, see inode(7). */
    private static boolean isExposed(Path directory) throws IOException {
        int mode = (Integer) Files.getAttribute(directory, "unix:mode");
        return (mode & WRITABLE_BY_OTHERS) != 0 && (mode & STICKY) == 0;
    }
}
