// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A mount, as this process sees it.
 *
 * <p><b>Threading:</b> immutable. Writes no log: {@code doctor} runs where SLF4J is not.
 *
 * <p><b>Source:</b> proc(5) (/proc/pid/mountinfo).
 *
 * @param root the folder of the mounted file system that is seen at the mount point
 * @param point where it is mounted
 * @param type of file system
 * @param options of the file system, not of the mount
 */
record MountInfo(String root, String point, String type, List<String> options) {
    /** Reads all mounts below a root, the newest last; none if this process cannot see them. */
    static List<MountInfo> readAll(Path fileSystem) {
        Path file = fileSystem.resolve("proc/self/mountinfo");
        List<MountInfo> mounts = new ArrayList<>();
        try {
            for (String line : Files.exists(file) ? Files.readAllLines(file) : List.<String>of()) {
                parse(line).ifPresent(mounts::add);
            }
        } catch (IOException e) {
            return List.of();
        }
        return mounts;
    }

    /** Returns the mount that a folder lies in, the newest where several cover one another. */
    static Optional<MountInfo> of(Path fileSystem, Path folder) {
        MountInfo closest = null;
        for (MountInfo mount : readAll(fileSystem)) {
            if (folder.startsWith(mount.point())
                    && (closest == null
                            || mount.point().length() >= closest.point().length())) {
                closest = mount;
            }
        }
        return Optional.ofNullable(closest);
    }

    /** Parses {@code 31 23 0:28 /root /mount/point rw,relatime shared:4 - tmpfs source rw,size=1024k,huge=advise}. */
    private static Optional<MountInfo> parse(String line) {
        String[] halves = line.split(" - ", 2);
        String[] left = halves[0].split(" ", -1);
        String[] right = halves[halves.length - 1].split(" ", -1);
        return halves.length < 2 || left.length < 5 || right.length < 3
                ? Optional.empty()
                : Optional.of(new MountInfo(
                        unescaped(left[3]), unescaped(left[4]), right[0], List.of(right[2].split(",", -1))));
    }

    /** mountinfo writes blanks, tabs, newlines and backslashes as octal numbers. */
    private static String unescaped(String field) {
        return field.replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }
}
