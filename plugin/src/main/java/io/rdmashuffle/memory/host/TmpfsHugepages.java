// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Support of a tmpfs for transparent huge pages on request. The mount decides, by its option {@code huge};
 * {@code shmem_enabled} is about memory without a mount, but {@code deny} and {@code force} hold for both.
 *
 * <p><b>Threading:</b> immutable. Writes no log: {@code doctor} runs where SLF4J is not.
 *
 * <p><b>Source:</b> Linux, Documentation/admin-guide/mm/transhuge.rst (Shmem / internal tmpfs), tmpfs(5).
 *
 * @param given whether they do
 * @param state what says so, in words
 */
public record TmpfsHugepages(boolean given, String state) {
    private static final String SHMEM_ENABLED = "sys/kernel/mm/transparent_hugepage/shmem_enabled";

    /** Examines the mount of a folder of this host. */
    public static TmpfsHugepages of(Path folder) {
        return of(Path.of("/"), folder);
    }

    /** Examines the mount of a folder, as the files below a root tell it. */
    public static TmpfsHugepages of(Path fileSystem, Path folder) {
        String kernel = chosen(read(fileSystem.resolve(SHMEM_ENABLED)));
        Optional<MountInfo> mount = MountInfo.of(fileSystem, real(fileSystem, folder));
        if (mount.isEmpty() || !mount.get().type().equals("tmpfs")) {
            return new TmpfsHugepages(false, folder + " is no tmpfs");
        }
        if (kernel.isEmpty() || kernel.equals("deny") || kernel.equals("force")) {
            return new TmpfsHugepages(
                    kernel.equals("force"),
                    kernel.isEmpty()
                            ? "the kernel has no transparent huge pages"
                            : "/" + SHMEM_ENABLED + " is " + kernel);
        }
        String huge = mount.get().options().stream()
                .filter(option -> option.startsWith("huge="))
                .findFirst()
                .orElse("huge=never");
        String point = mount.get().point();
        return huge.equals("huge=never")
                ? new TmpfsHugepages(
                        false,
                        point + " is mounted with huge=never; mount -o remount,huge=advise " + point + " changes that")
                : new TmpfsHugepages(true, point + " is mounted with " + huge);
    }

    /** Follows symbolic links, of which mounts know nothing; a folder that is not there is taken as it is named. */
    private static Path real(Path fileSystem, Path folder) {
        Path absolute = folder.toAbsolutePath();
        try {
            Path root = fileSystem.toRealPath();
            Path real = root.resolve(absolute.toString().substring(1)).toRealPath();
            return Path.of("/").resolve(root.relativize(real));
        } catch (IOException e) {
            return absolute;
        }
    }

    /** Picks the word in brackets. */
    private static String chosen(String words) {
        int open = words.indexOf('[');
        int close = words.indexOf(']');
        return open < 0 || close < open ? "" : words.substring(open + 1, close);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
