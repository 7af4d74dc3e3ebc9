// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * The memory limit of the control group that this process is in, or of one around it that has less: a container's, a
 * YARN container's, a systemd service's.
 *
 * <p><b>Threading:</b> stateless. Writes no log: {@code doctor} runs where SLF4J is not.
 *
 * <p><b>Source:</b> cgroups(7) (/proc/pid/cgroup, memory.max, memory.limit_in_bytes); {@link MountInfo}.
 */
public final class CgroupMemory {
    /** "No limit" is a word, or with version 1 a number of 19 digits, near 2^63. */
    private static final Pattern LIMIT = Pattern.compile("\\d{1,18}");

    private static final String UNIFIED = "";
    private static final String MEMORY = "memory";

    /** Default mount point, if the process cannot see its mounts. */
    private static final List<Mount> USUAL =
            List.of(new Mount("/", "/sys/fs/cgroup", UNIFIED), new Mount("/", "/sys/fs/cgroup/memory", MEMORY));

    private CgroupMemory() {}

    /**
     * A hierarchy of groups in the file system.
     *
     * @param root the group that is seen at the mount point, as the processes in it know it
     * @param point where
     * @param controller {@link #MEMORY}, or {@link #UNIFIED} for version 2
     */
    private record Mount(String root, String point, String controller) {
        String limitFile() {
            return controller.equals(UNIFIED) ? "memory.max" : "memory.limit_in_bytes";
        }

        /** Returns the folder of a group below this mount, or the mount point if the group is not seen here. */
        Path folder(Path fileSystem, String group) {
            Path top = fileSystem.resolve(point.substring(1));
            Path seen = Path.of(root);
            Path path = Path.of(group).normalize();
            return path.startsWith(seen)
                    ? top.resolve(seen.relativize(path).toString()).normalize()
                    : top;
        }
    }

    /** Returns the least limit that holds for this process; empty when there is none. */
    public static OptionalLong limit() {
        return limit(Path.of("/"));
    }

    /** Returns the lowest limit in another file system; for tests. */
    public static OptionalLong limit(Path fileSystem) {
        List<Mount> mounts = mounts(fileSystem);
        List<String> groups = lines(fileSystem.resolve("proc/self/cgroup"));
        OptionalLong least = OptionalLong.empty();
        for (Mount mount : mounts.isEmpty() ? USUAL : mounts) {
            Path top = mount.folder(fileSystem, mount.root());
            Path folder = mount.folder(fileSystem, group(groups, mount));
            while (folder != null && folder.startsWith(top)) {
                least = lesser(least, read(folder.resolve(mount.limitFile())));
                folder = folder.getParent();
            }
        }
        return least;
    }

    private static List<Mount> mounts(Path fileSystem) {
        List<Mount> found = new ArrayList<>();
        for (MountInfo mount : MountInfo.readAll(fileSystem)) {
            boolean memory = mount.type().equals("cgroup") && mount.options().contains(MEMORY);
            if (memory || mount.type().equals("cgroup2")) {
                found.add(new Mount(mount.root(), mount.point(), memory ? MEMORY : UNIFIED));
            }
        }
        return found;
    }

    /** Reads {@code 4:memory:/group}, or {@code 0::/group} for version 2. */
    private static String group(List<String> cgroup, Mount mount) {
        return cgroup.stream()
                .map(line -> line.split(":", 3))
                .filter(parts -> parts.length == 3
                        && Arrays.asList(parts[1].split(",", -1)).contains(mount.controller()))
                .map(parts -> parts[2])
                .findFirst()
                .orElse(mount.root());
    }

    private static OptionalLong lesser(OptionalLong one, OptionalLong other) {
        if (one.isEmpty() || other.isEmpty()) {
            return one.isEmpty() ? other : one;
        }
        return OptionalLong.of(Math.min(one.getAsLong(), other.getAsLong()));
    }

    private static OptionalLong read(Path file) {
        List<String> lines = lines(file);
        return lines.isEmpty() ? OptionalLong.empty() : bytes(lines.get(0));
    }

    static OptionalLong bytes(String content) {
        String text = content.strip();
        return LIMIT.matcher(text).matches() ? OptionalLong.of(Long.parseLong(text)) : OptionalLong.empty();
    }

    /** None if the file cannot be read, as those of groups around a container cannot. */
    private static List<String> lines(Path file) {
        try {
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }
}
