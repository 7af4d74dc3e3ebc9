// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.HugepageRegion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
class TmpfsHugepagesTest {
    private static final Path SHM = Path.of("/dev/shm");

    @TempDir
    Path root;

    private void file(String path, String content) {
        try {
            Path file = root.resolve(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private TmpfsHugepages on(String shmemEnabled, String... mounts) {
        file("sys/kernel/mm/transparent_hugepage/shmem_enabled", shmemEnabled);
        file("proc/self/mountinfo", String.join("\n", mounts) + "\n");
        return TmpfsHugepages.of(root, SHM);
    }

    private static String shm(String options) {
        return "25 22 0:24 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,inode64" + options;
    }

    @Test
    void theMountDecidesAndNotWhatHoldsForMemoryWithoutOne() {
        String never = "always within_size advise [never] deny force";
        assertThat(on(never, shm(",huge=advise")).given()).isTrue();
        assertThat(on(never, shm(",huge=within_size")).given()).isTrue();
        assertThat(on(never, shm(",huge=always")).state()).isEqualTo("/dev/shm is mounted with huge=always");
        TmpfsHugepages none = on("[always] within_size advise never deny force", shm(""));
        assertThat(none.given()).isFalse();
        assertThat(none.state()).contains("mount -o remount,huge=advise /dev/shm");
    }

    @Test
    void aSymbolicLinkIsFollowed() throws Exception {
        Files.createDirectories(root.resolve("dev/shm/pools"));
        Files.createSymbolicLink(root.resolve("pools"), Path.of("dev/shm/pools"));
        on("always within_size advise [never] deny force", "21 1 8:1 / / rw - ext4 /dev/vda rw", shm(",huge=advise"));
        assertThat(TmpfsHugepages.of(root, Path.of("/pools")).given()).isTrue();
        assertThat(TmpfsHugepages.of(root, Path.of("/")).given()).isFalse();
    }

    @Test
    void theKernelMayRuleThemOutOrInForAllMounts() {
        assertThat(on("always within_size advise never [deny] force", shm(",huge=advise")))
                .isEqualTo(new TmpfsHugepages(false, "/sys/kernel/mm/transparent_hugepage/shmem_enabled is deny"));
        assertThat(on("always within_size advise never deny [force]", shm("")).given())
                .isTrue();
        assertThat(on("", shm(",huge=advise")).state()).isEqualTo("the kernel has no transparent huge pages");
    }

    @Test
    void findsTheNewestMountOfTheFolder() {
        String advise = "always within_size advise [never] deny force";
        String top = "22 1 8:1 / / rw - ext4 /dev/vda rw";
        assertThat(on(advise, top).state()).isEqualTo("/dev/shm is no tmpfs");
        assertThat(on(advise, top, shm(",huge=always"), shm(",huge=never")).given())
                .isFalse();
        assertThat(on(advise, shm(",huge=advise"), top).given()).isTrue();
        // A neighbour whose name begins alike.
        assertThat(on(advise, top, shm(",huge=advise").replace("/dev/shm", "/dev/sh"))
                        .given())
                .isFalse();
        assertThat(TmpfsHugepages.of(root.resolve("none"), SHM).given()).isFalse();
    }

    /** What fallocate has reserved before the advice lies in small pages, whatever the mount gives. */
    @Test
    void regionsHaveThemFromTheStartWhereTheyAreAskedFor(@TempDir Path directory) throws Exception {
        assertThat(hugeKibibytes(directory, "huge=advise", true)).isPositive();
        assertThat(hugeKibibytes(directory, "huge=within_size", true)).isPositive();
        assertThat(hugeKibibytes(directory, "huge=advise", false)).isZero();
        assertThat(hugeKibibytes(directory, "huge=never", true)).isZero();
    }

    /** Has another process create a region in a tmpfs of its own; returns how much of it lies in huge pages. */
    private static int hugeKibibytes(Path directory, String option, boolean asked) throws Exception {
        String mount = "mount -t tmpfs -o size=256m," + option + " rdma-test \"$0\" && exec \"$@\"";
        Process process = new ProcessBuilder(
                        "unshare",
                        "--mount",
                        "--propagation",
                        "private",
                        "bash",
                        "-c",
                        mount,
                        directory.toString(),
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        HugepageRegion.class.getName(),
                        directory.toString(),
                        Boolean.toString(asked))
                .redirectErrorStream(true)
                .start();
        if (!process.waitFor(50, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("the other process did not end");
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.exitValue() != 0 && !"1".equals(System.getenv("REQUIRE_ROOT"))) {
            Assumptions.abort("needs root: " + output);
        }
        assertThat(process.exitValue()).as(output).isZero();
        String line = output.lines()
                .filter(each -> each.startsWith("ShmemPmdMapped:"))
                .findFirst()
                .orElseThrow(() -> new AssertionError(output));
        return Integer.parseInt(line.replaceAll("\\D", ""));
    }
}
