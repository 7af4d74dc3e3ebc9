// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** File systems as kernels, container runtimes and service managers make them. */
@Tag("unit")
@Timeout(60)
class CgroupMemoryTest {
    private static final String UNIFIED = "35 31 0:32 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup rw\n";

    @TempDir
    Path root;

    private void write(String path, String content) {
        try {
            Path file = root.resolve(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void process(String cgroup, String mountinfo) {
        write("proc/self/cgroup", cgroup);
        write("proc/self/mountinfo", mountinfo);
    }

    @Test
    void theRootOfAContainersOwnNamespace() {
        process("0::/\n", "22 1 8:1 / / rw - ext4 /dev/vda rw\n" + UNIFIED);
        write("sys/fs/cgroup/memory.max", "1073741824\n");
        assertThat(CgroupMemory.limit(root)).hasValue(1L << 30);
        write("sys/fs/cgroup/memory.max", "max\n");
        assertThat(CgroupMemory.limit(root)).isEmpty();
    }

    @Test
    void theLeastOfTheGroupsAroundAService() {
        process("0::/system.slice/yarn.service/container_1\n", UNIFIED);
        write("sys/fs/cgroup/system.slice/yarn.service/container_1/memory.max", "max\n");
        write("sys/fs/cgroup/system.slice/yarn.service/memory.max", "4294967296\n");
        write("sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
        assertThat(CgroupMemory.limit(root)).hasValue(4L << 30);
        write("sys/fs/cgroup/system.slice/yarn.service/container_1/memory.max", "2147483648\n");
        assertThat(CgroupMemory.limit(root)).hasValue(2L << 30);
    }

    @Test
    void memoryControllerOfV1NextToAnEmptyV2() {
        process("""
                9:name=systemd:/
                5:cpu,memory:/hadoop-yarn/container_1
                3:cpuset:/elsewhere
                0::/
                """, """
                35 31 0:32 / /sys/fs/cgroup/cpu,memory rw,relatime - cgroup cgroup rw,cpu,memory
                36 31 0:33 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
                41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
                """);
        write("sys/fs/cgroup/cpu,memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("sys/fs/cgroup/cpu,memory/hadoop-yarn/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(CgroupMemory.limit(root)).isEmpty();
        write("sys/fs/cgroup/cpu,memory/hadoop-yarn/container_1/memory.limit_in_bytes", "536870912\n");
        assertThat(CgroupMemory.limit(root)).hasValue(512L << 20);
    }

    /** Docker without a namespace of its own shows the group's path on the host and mounts the group itself. */
    @Test
    void aGroupThatIsMountedByItself() {
        process(
                "4:memory:/docker/5f1a\n",
                "35 31 0:32 /docker/5f1a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
        assertThat(CgroupMemory.limit(root)).hasValue(256L << 20);
    }

    @Test
    void aGroupThatIsNotSeenHere() {
        process("0::/../../other\n", UNIFIED);
        write("sys/fs/cgroup/memory.max", "268435456\n");
        assertThat(CgroupMemory.limit(root)).hasValue(256L << 20);
    }

    @Test
    void mountPointsWithBlanksAndLinesOfNoMeaning() {
        process("nonsense\n\n0::/a\n", "nonsense\n - \n" + UNIFIED.replace("/sys/fs/cgroup", "/my\\040groups"));
        write("my groups/a/memory.max", "12345\n");
        assertThat(CgroupMemory.limit(root)).hasValue(12345);
        write("my groups/a/memory.max", "a lot\n");
        assertThat(CgroupMemory.limit(root)).isEmpty();
    }

    @Test
    void theUsualPlacesWhereProcIsNotToBeRead() {
        assertThat(CgroupMemory.limit(root)).isEmpty();
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
        assertThat(CgroupMemory.limit(root)).hasValue(256L << 20);
        write("sys/fs/cgroup/memory.max", "1000\n");
        assertThat(CgroupMemory.limit(root)).hasValue(1000);
    }
}
