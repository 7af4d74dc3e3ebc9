// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/**
 * Identity, owner, type and size of a file.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Source:</b> inode(7), proc(5) (/proc/self/fd).
 *
 * @param identity device and inode
 * @param uid user id of the owner
 * @param mode type and permissions, as {@code st_mode}
 * @param links names that lead to the file
 * @param bytes length
 */
public record FileStatus(FileIdentity identity, int uid, int mode, int links, long bytes) {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    /** Not all: names of owner and group are looked up in a user database. */
    private static final String ATTRIBUTES = "unix:dev,ino,uid,mode,nlink,size";

    private static final int TYPE_MASK = 0170000;
    private static final int DIRECTORY = 0040000;
    private static final int REGULAR = 0100000;
    private static final int OTHERS_MASK = 0077;

    /** Reads the status of an open file, whatever has its name now. */
    public static FileStatus of(int fd) throws IOException {
        return of(Files.readAttributes(path(fd), ATTRIBUTES));
    }

    /** Reads the status of the file that has a name; of a symbolic link, its own. */
    public static FileStatus of(Path path) throws IOException {
        return of(Files.readAttributes(path, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS));
    }

    private static FileStatus of(Map<String, Object> attributes) {
        return new FileStatus(
                new FileIdentity(number(attributes, "dev"), number(attributes, "ino")),
                (int) number(attributes, "uid"),
                (int) number(attributes, "mode"),
                (int) number(attributes, "nlink"),
                number(attributes, "size"));
    }

    private static long number(Map<String, Object> attributes, String name) {
        return attributes.get(name) instanceof Number number ? number.longValue() : -1;
    }

    /** Returns a path that leads to an open file, or through an open directory, without its name. */
    public static Path path(int fd) {
        return DESCRIPTORS.resolve(Integer.toString(fd));
    }

    public boolean isDirectory() {
        return (mode & TYPE_MASK) == DIRECTORY;
    }

    public boolean isRegular() {
        return (mode & TYPE_MASK) == REGULAR;
    }

    /** Returns whether only the owner may read, write or enter. */
    public boolean isPrivate() {
        return (mode & OTHERS_MASK) == 0;
    }
}
